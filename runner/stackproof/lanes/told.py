"""What a lane says of itself: lines for people, `lane.json` for machines, one JUnit report, notes for GitHub.

It is no verdict: a lane that is green has shown its part, and only all of them together make a release.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from stackproof.errors import ExitCode
from stackproof.evidence import jsonfile, merge, read, rescued
from stackproof.evidence.shards import whole_of
from stackproof.shards.records import Shard
from stackproof.verdict import concealing, github, markdown, noted, render, summary, terminal
from stackproof.verdict.expected import CLAIMS
from stackproof.verdict.github import Annotation
from stackproof.verdict.policy_records import Waiver
from stackproof.verdict.records import Verdict
from stackproof.verdict.test_rows import Failure

NAME = "lane.json"
SCHEMA = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """A lane that has ended. verdict: over its part, None where nothing is asked of it. codes: of `parts.Ran`.

    shard: which job of the lane this is, None where it is all of it.
    """

    lane: str
    run_dir: Path
    verdict: Verdict | None
    codes: Mapping[str, ExitCode]
    exit_code: ExitCode
    again: str
    secrets: Mapping[str, str]
    waivers: Sequence[Waiver] = ()
    shard: Shard | None = None

    @property
    def called(self) -> str:
        """`library`, and of a shard `library 1/2`."""
        return self.lane if self.shard is None else f"{self.lane} {self.shard}"


def write(told: Told) -> dict[str, Any]:
    """Write `lane.json` and `junit.xml` into the run folder; what the first holds."""
    content: dict[str, Any] = {
        "schema": SCHEMA,
        "kind": "lane",
        "lane": told.lane,
        "shard": None if told.shard is None else {"index": told.shard.index, "total": told.shard.total},
        "run_id": told.run_dir.name,
        "exit_code": int(told.exit_code),
        "codes": {name: int(code) for name, code in told.codes.items()},
        "part": None if told.verdict is None else render.to_json(told.verdict),
        "again": told.again,
    }
    jsonfile.write(told.run_dir / NAME, content)
    found = read.read(told.run_dir)
    reports = {
        name: concealing.conceal_report(rescued.report_of(cell.report, cell.log), told.secrets)
        for name, cell in found.cells.items()
    }
    if found.claims is not None:
        reports[CLAIMS] = concealing.conceal_report(found.claims.report, told.secrets)
    conceal = functools.partial(concealing.conceal_cases, secrets=told.secrets)
    merge.write(told.run_dir / "junit.xml", reports, change=conceal)
    return content


def lines(told: Told, project: Path) -> Iterator[str]:
    """What people see at the end."""
    folder = told.run_dir.relative_to(project.absolute()).as_posix()
    if told.verdict is None:
        yield f"LANE {told.called}  {'PASS' if told.exit_code is ExitCode.PASS else _ended(told.exit_code)}"
        yield f"Evidence {folder}"
    else:
        first, *rest = terminal.lines(told.verdict, folder)
        yield first.replace("RELEASE VERDICT", f"LANE {told.called}", 1)
        yield from rest
    if told.exit_code is not ExitCode.PASS and (told.verdict is None or told.again not in told.verdict.again):
        yield f"again: {told.again}"


def annotated(told: Told, environ: Mapping[str, str]) -> list[str]:
    """The lines that put the most useful findings beside the changed code; none where no GitHub runner reads them."""
    if not github.is_wanted(environ):
        return []
    bad = _failed(told)
    if told.verdict is None:
        notes = github.chosen(bad, (), _others(told, bad), title=f"lane {told.called}", where="the run folder")
    else:
        types = read.read(told.run_dir).typecheck
        notes = github.notes(told.verdict, bad, types.errors if types is not None else ())
    return [note.command() for note in notes]


def summarise(told: Told, environ: Mapping[str, str]) -> None:
    """Append the lane to the page of the job, where it has one: the verdict over its part, or what each part gave."""
    if not summary.wanted(environ):
        return
    if (verdict := told.verdict) is not None:
        of = f"Lane {told.called}"
        summary.append(environ, lambda room: markdown.to_markdown(verdict, limit=room, of=of))
        return
    table = [(name, "PASS" if code is ExitCode.PASS else _ended(code), "") for name, code in told.codes.items()]
    result = "PASS" if told.exit_code is ExitCode.PASS else _ended(told.exit_code)
    page = noted.page(
        f"Lane {told.called}: {result}", f"Run `{told.run_dir.name}`.", table, _failed(told), [told.again]
    )
    summary.append(environ, lambda room: summary.fitted(page, room))


def _failed(told: Told) -> tuple[Failure, ...]:
    return noted.failed(told.run_dir, told.secrets, waivers=told.waivers, today=_day(told.verdict))


def _others(told: Told, bad: Sequence[Failure]) -> list[Annotation]:
    """Parts that went wrong without a test that says so."""
    # A part of a cell has a code by its own name, and its failures are those of the cell.
    named = {cell for failure in bad for cell in failure.cells}
    return [
        Annotation(level="error", title=f"lane {told.called}: {name}", message=_ended(code))
        for name, code in told.codes.items()
        if code is not ExitCode.PASS and whole_of(name) not in named
    ]


def _day(verdict: Verdict | None) -> date | None:
    return date.fromisoformat(verdict.as_of) if verdict is not None and verdict.as_of else None


def _ended(code: ExitCode) -> str:
    return f"ended with {int(code)}, {code.name.lower().replace('_', ' ')}"
