"""The failed tests of one run folder, for the notes and the page of a CI job, with no secret in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path

from stackproof.evidence.gather import gather
from stackproof.plaintext import shortened
from stackproof.recorder import redact
from stackproof.verdict import concealing
from stackproof.verdict.markdown import cell, inline
from stackproof.verdict.policy_records import Waiver
from stackproof.verdict.test_rows import Failure, failures, misses_of, rows

_LONGEST = 500


def failed(
    run_dir: Path, secrets: Mapping[str, str], *, waivers: Iterable[Waiver] = (), today: date | None = None
) -> tuple[Failure, ...]:
    """Failures that no waiver covers, each with the cells that it came in. secrets: by the name of their variable."""
    found = gather([run_dir])
    tests = concealing.conceal_rows(rows(found, waivers, today), secrets)
    missed = redact.conceal(misses_of(run_dir, found), secrets)
    return tuple(failures(tests, missed))


def page(
    heading: str, about: str, table: Iterable[tuple[str, str, str]], bad: Iterable[Failure], again: Iterable[str]
) -> Iterator[str]:
    """Lines of Markdown, the result first: what it is made of (name, result, why), how to have it again, its failures.

    All words are taken as text, those of `heading` and `about` as they are.
    """
    yield from (f"# {heading}", "", about, "", "| | result | |", "|---|---|---|")
    for name, result, why in table:
        yield f"| {cell(name)} | {cell(result)} | {cell(shortened(why, _LONGEST))} |"
    yield ""
    if commands := [" ".join(command.split()) for command in again]:
        # Indented, so that nothing in it can be the end of it.
        yield from ("Again:", "", *(f"    {command}" for command in commands), "")
    failing = list(bad)
    if failing:
        yield from ("## Failed tests", "")
        for each in failing:
            line = f":{each.row.line}" if each.row.line is not None else ""
            place = f" ({inline(each.row.file)}{line})" if line and each.row.file else ""
            said = inline(shortened(each.row.said or "it failed", _LONGEST))
            yield f"- {inline(shortened(each.row.name, _LONGEST))}{place}: {said}; in {inline(', '.join(each.cells))}"
        yield ""
