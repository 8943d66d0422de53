"""`stackproof policy update`: writes what is expected from now on, from a run that somebody has looked at.

What a run would change is worked out first, so that it can be shown as a diff before, or instead of, being written.
"""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stackproof.errors import NotProvenError
from stackproof.evidence import jsonfile
from stackproof.evidence.gather import gather
from stackproof.evidence.outcomes import Outcome
from stackproof.evidence.read import CellFacts, Evidence
from stackproof.evidence.typecheck import TypecheckState
from stackproof.plaintext import counted
from stackproof.verdict import accepted, expected, policy
from stackproof.verdict.claims_rule import as_cell, unable_tests
from stackproof.verdict.expected import Expectation
from stackproof.verdict.policy import Policy
from stackproof.verdict.tests_of import tests_of

# What makes a run one of less than its suite.
_PICKS = ("--file", "--subdirs", "--pattern")
_AGAIN = "run it again: `stackproof verify-release`"
_MARKED = (Outcome.XFAILED, Outcome.XPASSED)


@dataclass(frozen=True, kw_only=True, slots=True)
class Update:
    """lines: what changes, for people. files: what a file holds afterwards, by its path below the project; None takes
    the file away.
    """

    lines: tuple[str, ...]
    files: Mapping[Path, str | None]


def planned(project: Path, run_dirs: Sequence[Path], *, accept_types: bool = False) -> Update:
    """What `ci/expected/` has to hold so that the run is as expected: a file for each cell that it holds, for its
    claims, and for accepted type errors. run_dirs: several where its shards lie in several.

    Accepted type errors get fewer and never more, unless accept_types says that those of this run are to be borne.
    NotProvenError when a cell did not run to its end or the run holds nothing of the policy: what such a run did not
    get to would no longer be expected.
    """
    found, rules = gather(run_dirs), policy.load(project)
    wanted = expected.names(rules)
    cells = {name: found.cells[name] for name in wanted if name in found.cells}
    unable: frozenset[str] = frozenset()
    if rules.claims is not None and found.claims is not None and found.claims.only is None:
        cells[expected.CLAIMS] = as_cell(found.claims)
        unable = unable_tests(found.claims, rules.claims.claims)
    types = None if rules.typecheck is None else _types(project, rules, found, accept=accept_types)
    if not cells and (types is None or not types.files):
        raise NotProvenError(
            f"no cell of {policy.PATH.as_posix()} is in run {', '.join(each.name for each in run_dirs)}",
            hint="no list of tests is kept of a live smoke: it counts as it is"
            if found.live.smokes
            else f"it lists {', '.join(wanted)}; `stackproof verify-release` runs all of them",
        )
    files: dict[Path, str | None] = {}
    lines: list[str] = []
    for name, cell in cells.items():
        expectation = _expectation(cell, unable)
        lines += _changes(name, expected.load(project, name), expectation)
        files[expected.path(name)] = jsonfile.dumps(expected.content(name, expectation))
    missing = [name for name in wanted if name not in cells]
    lines += [f"{name}: not in this run, left as it is" for name in missing]
    if types is not None:
        lines += types.lines
        files |= types.files
    stale = sorted(path.stem for path in (project / expected.FOLDER).glob("*.json"))
    known = {*wanted, *((accepted.NAME,) if rules.typecheck else ())}
    lines += [f"{name}: no cell of the policy, its file can go" for name in stale if name not in known]
    return Update(lines=tuple(lines), files=files)


def write(project: Path, update: Update) -> None:
    """Put the files in place."""
    for name, text in update.files.items():
        if text is None:
            (project / name).unlink(missing_ok=True)
        else:
            jsonfile.write_text(project / name, text)


def diff(project: Path, update: Update) -> Iterator[str]:
    """What would change in the files, as a unified diff, which `git apply` takes."""
    for name, text in update.files.items():
        path = project / name
        before = path.read_text(encoding="utf-8") if path.is_file() else None
        old = "/dev/null" if before is None else f"a/{name.as_posix()}"
        new = "/dev/null" if text is None else f"b/{name.as_posix()}"
        sides = ((before or "").splitlines(), (text or "").splitlines())
        yield from difflib.unified_diff(*sides, old, new, lineterm="", n=2)


def _types(project: Path, rules: Policy, found: Evidence, *, accept: bool) -> Update | None:
    """What becomes of the accepted type errors; None where there is nothing to say."""
    before, facts = accepted.load(project), found.typecheck
    wanted = rules.typecheck
    if (
        facts is None
        or facts.state is TypecheckState.TOOL_FAILURE
        or wanted is None
        or set(facts.roots) != set(wanted.paths)
    ):
        told = (f"{accepted.NAME}: not proven in this run, left as they are",) if before or accept else ()
        return Update(lines=told, files={})
    after = accepted.counted(facts.errors) if accept else accepted.lowered(facts.errors, before)
    lines = [f"{accepted.NAME}: {sum(after.values())} errors accepted"] if before or after else []
    for kind in sorted(before.keys() | after.keys()):
        change = after.get(kind, 0) - before.get(kind, 0)
        if change:
            lines.append(f"  {change:+d} {kind.file}: {kind.message}  [{kind.code}]")
    if (more := len(accepted.beyond(facts.errors, after))) > 0:
        lines.append(f"{accepted.NAME}: {more} other errors are not accepted; --accept-types would")
    if after == before:
        return Update(lines=tuple(lines), files={})
    text = jsonfile.dumps(accepted.content(after)) if after else None
    return Update(lines=tuple(lines), files={accepted.FILE: text})


def _expectation(cell: CellFacts, unable: frozenset[str]) -> Expectation:
    """unable: tests of claims that the machine of the run cannot serve; elsewhere they run, so no skip is expected."""
    if cell.shards is not None and not cell.shards.complete:
        lacking = [f"shard {each.index}/{each.total} is missing" for each in cell.shards.missing[:3]]
        why = ", ".join(lacking) or "its shards do not make a whole"
        command = next((each.command for each in cell.shards.missing if each.command), None)
        raise NotProvenError(
            f"{cell.id}: {why}, so nobody knows which tests it has",
            hint="name the folders of all its shards" + (f"; or run it: {command}" if command else ""),
        )
    if picked := [word for word in _PICKS if word in shlex.split(cell.command or "")]:
        raise NotProvenError(
            f"{cell.id} ran only what {' and '.join(picked)} picked, so nobody knows which tests it has",
            hint="`stackproof verify-release` runs it whole; or name such a run: stackproof policy update RUN",
        )
    if cell.log.collected is None or cell.log.exitstatus is None or cell.report.problems:
        raise NotProvenError(f"{cell.id} did not run to its end, so nobody knows which tests it has", hint=_AGAIN)
    if without := sorted(set(cell.log.collected) - cell.log.tests.keys()):
        raise NotProvenError(
            f"{cell.id}: {len(without)} collected tests have no outcome, for example {without[0]}", hint=_AGAIN
        )
    if not cell.log.collected:
        raise NotProvenError(f"{cell.id} collected no test", hint="look at `roots` of its suite, then run it again")
    facts = [fact for fact in tests_of(cell).facts if fact.name not in unable]
    return Expectation(
        nodeids=frozenset(cell.log.collected),
        skips={fact.name: fact.reason or "" for fact in facts if fact.outcome is Outcome.SKIPPED},
        xfails=frozenset(fact.name for fact in facts if fact.outcome in _MARKED),
    )


def _changes(name: str, old: Expectation | None, new: Expectation) -> Iterator[str]:
    before = old or Expectation(nodeids=frozenset())
    yield f"{name}: {counted(len(new.nodeids), 'test')}, {len(new.skips)} skipped, {len(new.xfails)} expected to fail"
    if old is None:
        return
    for sign, tests in (("+", new.nodeids - before.nodeids), ("-", before.nodeids - new.nodeids)):
        yield from (f"  {sign} {test}" for test in sorted(tests))
    for test in sorted(new.skips.keys() | before.skips.keys()):
        if new.skips.get(test) != before.skips.get(test):
            yield f"  skip {test}: {before.skips.get(test, 'ran')} -> {new.skips.get(test, 'runs')}"
    for test in sorted(new.xfails ^ before.xfails):
        yield f"  {'now' if test in new.xfails else 'no longer'} expected to fail: {test}"
