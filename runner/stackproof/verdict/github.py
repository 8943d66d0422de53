"""What a CI system shows beside the changed lines: GitHub's workflow commands, as the runner reads them.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands, and the runner's own escapes
(actions/toolkit, packages/core/src/command.ts). The runner takes a line for a command wherever one starts, blanks
before it or not, so that text from tests must neither start a line here nor anywhere else in the output of a run:
`stackproof.ci` is for that output.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from stackproof.ci import kind
from stackproof.ci.kind import Kind
from stackproof.evidence.typecheck import Message
from stackproof.plaintext import plain, shortened
from stackproof.verdict.records import Rule, State, Verdict
from stackproof.verdict.test_rows import Failure

MOST = 10  # GitHub shows ten of a kind in a step, and drops the others without a word
_LONGEST = 4000


@dataclass(frozen=True, kw_only=True, slots=True)
class Annotation:
    """One note. level: `error` or `warning`. file: below the project; line: from 1; both None where there is none."""

    level: str
    title: str
    message: str
    file: str | None = None
    line: int | None = None

    def command(self) -> str:
        """The line that the runner reads."""
        properties = {"file": self.file, "line": None if self.line is None else str(self.line), "title": self.title}
        given = ",".join(f"{name}={_property(value)}" for name, value in properties.items() if value)
        return f"::{self.level} {given}::{_data(self.message)}"


def is_wanted(environ: Mapping[str, str]) -> bool:
    """Whether a GitHub runner reads the output."""
    return kind.of(environ) is Kind.GITHUB


def notes(verdict: Verdict, failures: Sequence[Failure], types: Sequence[Message]) -> list[Annotation]:
    """Failed tests, type errors, and the rules that these do not explain; at most ten, as `chosen` takes them."""
    told = Counter(f"cell:{cell}" for failure in failures for cell in failure.cells)
    told["types"] = len(types)
    rules = [_of_rule(rule) for rule in _rules(verdict) if _bad(rule) > told[rule.id]]
    return chosen(failures, types, rules, title="Release verdict", where="verdict.html")


def chosen(
    failures: Sequence[Failure] = (),
    types: Sequence[Message] = (),
    others: Sequence[Annotation] = (),
    *,
    title: str,
    where: str,
) -> list[Annotation]:
    """At most ten, the most useful first: failed tests with their line, other failed tests, type errors, the others.

    When there are more, the last one, of that title, says how many, and that `where` has them all.
    """
    tests = [_of_test(failure) for failure in failures]
    found = [each for each in tests if each.line is not None] + [each for each in tests if each.line is None]
    found += [*_of_types(types), *others]
    if len(found) <= MOST:
        return found
    more = len(found) - MOST + 1
    rest = Annotation(level="warning", title=title, message=f"and {more} more: {where} has them all")
    return [*found[: MOST - 1], rest]


def _of_test(failure: Failure) -> Annotation:
    row = failure.row
    where = f"in {', '.join(failure.cells)}"
    more = [miss for miss in failure.misses if miss not in row.text]
    message = "\n".join([row.said or "it failed", where, *more])
    return Annotation(level="error", title=row.name, message=message, file=row.file, line=row.line)


def _of_types(types: Sequence[Message]) -> Iterator[Annotation]:
    for error in types:
        code = f" ({error.code})" if error.code else ""
        yield Annotation(level="error", title=f"types{code}", message=error.message, file=error.file, line=error.line)


def _rules(verdict: Verdict) -> list[Rule]:
    """Those that count, failed ones first."""
    bad = [rule for rule in verdict.rules if rule.counted is not State.PASS]
    return sorted(bad, key=lambda rule: -rule.counted.severity)


def _bad(rule: Rule) -> int:
    return sum(finding.state is not State.PASS for finding in rule.findings)


def _of_rule(rule: Rule) -> Annotation:
    level = "error" if rule.counted is State.FAIL else "warning"
    return Annotation(level=level, title=f"{rule.title}: {rule.state.value}", message=rule.summary)


def _data(text: str) -> str:
    """A message: line feeds stay, as escapes; whatever else a terminal acts on becomes visible."""
    cut = shortened(plain(text), _LONGEST)
    return cut.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(shortened(text, 300)).replace(":", "%3A").replace(",", "%2C")
