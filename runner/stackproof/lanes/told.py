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
from stackproof.recorder import redact
from stackproof.verdict import concealing, publish, render, terminal
from stackproof.verdict.expected import CLAIMS
from stackproof.verdict.policy_records import Waiver
from stackproof.verdict.publish import Publication
from stackproof.verdict.records import Verdict
from stackproof.verdict.test_rows import failures, misses_of, rows

NAME = "lane.json"
SCHEMA = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """A lane that has ended. verdict: over its part, None where nothing is asked of it. codes: of `parts.Ran`."""

    lane: str
    run_dir: Path
    verdict: Verdict | None
    codes: Mapping[str, ExitCode]
    exit_code: ExitCode
    again: str
    secrets: Mapping[str, str]
    waivers: Sequence[Waiver] = ()


def write(told: Told) -> dict[str, Any]:
    """Write `lane.json` and `junit.xml` into the run folder; what the first holds."""
    content: dict[str, Any] = {
        "schema": SCHEMA,
        "kind": "lane",
        "lane": told.lane,
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
        yield f"LANE {told.lane}  {'PASS' if told.exit_code is ExitCode.PASS else _ended(told.exit_code)}"
        yield f"Evidence {folder}"
    else:
        first, *rest = terminal.lines(told.verdict, folder)
        yield first.replace("RELEASE VERDICT", f"LANE {told.lane}", 1)
        yield from rest
    if told.exit_code is not ExitCode.PASS and (told.verdict is None or told.again not in told.verdict.again):
        yield f"again: {told.again}"


def annotated(told: Told, environ: Mapping[str, str]) -> list[str]:
    """The lines that put the most useful findings beside the changed code; none where no GitHub runner reads them."""
    if told.verdict is None:
        return []
    found = read.read(told.run_dir)
    tests = concealing.conceal_rows(rows(found, told.waivers, _day(told.verdict)), told.secrets)
    missed = redact.conceal(misses_of(told.run_dir, found.cells), told.secrets)
    return publish.annotated(
        Publication(
            run_dir=told.run_dir,
            verdict=told.verdict,
            evidence=found,
            rows=tests,
            failures=tuple(failures(tests, missed)),
            environ=environ,
        )
    )


def _day(verdict: Verdict) -> date | None:
    return date.fromisoformat(verdict.as_of) if verdict.as_of else None


def _ended(code: ExitCode) -> str:
    return f"ended with {int(code)}, {code.name.lower().replace('_', ' ')}"
