"""Every test of every cell as one row: what reports, pages and statements are made of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from stackproof.evidence import jsonfile
from stackproof.evidence.nodeids import title
from stackproof.evidence.outcomes import Outcome
from stackproof.evidence.read import CellFacts, Evidence
from stackproof.verdict.claims_rule import as_cell
from stackproof.verdict.policy import Waiver
from stackproof.verdict.tests_of import tests_of
from stackproof.verdict.waiving import waiver_for

# pytest ends each part of a failure with the place it came from: `tests/test_a.py:12: AssertionError`.
_PLACE = re.compile(r"^(?P<file>[^\s:][^:\n]{0,400}):(?P<line>[0-9]{1,7}): ", re.MULTILINE)
_MISSES = 5  # of one test


@dataclass(frozen=True, kw_only=True, slots=True)
class TestRow:
    """One test in one cell. seconds: None where nobody said. borne: a waiver of today covers its failure."""

    __test__ = False

    cell: str
    name: str
    outcome: Outcome
    seconds: float | None = None
    attempts: int = 1
    reason: str = ""
    text: str = ""
    borne: bool = False

    @property
    def file(self) -> str | None:
        """The file of its node id; None for a test whose node id is not known."""
        file, colons, _ = self.name.partition("::")
        return file if colons and file else None

    @property
    def line(self) -> int | None:
        """The line of its file, from 1, at which it failed; None where the text does not say."""
        lines = [int(found["line"]) for found in _PLACE.finditer(self.text) if found["file"] == self.file]
        return lines[-1] if lines else None

    @property
    def said(self) -> str:
        """The sentence that matters: what pytest puts behind an `E`, else the first line."""
        lines = [line.strip() for line in (self.text or self.reason).splitlines() if line.strip()]
        return next((line[1:].strip() for line in lines if line.startswith("E ")), lines[0] if lines else "")


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """A test that failed in the same way in these cells. misses: what was said of its calls without a recording."""

    row: TestRow
    cells: tuple[str, ...]
    misses: tuple[str, ...] = ()


def rows(evidence: Evidence, waivers: Iterable[Waiver] = (), today: date | None = None) -> tuple[TestRow, ...]:
    """All tests that have an outcome, cell by cell, those of claims at the end.

    Waivers are looked at as of `today`; without a day, not at all.
    """
    given = tuple(waivers)
    sessions = [*evidence.cells.values(), *([as_cell(evidence.claims)] if evidence.claims is not None else [])]
    return tuple(row for cell in sessions for row in _rows(cell, given, today))


def failures(found: Iterable[TestRow], misses: Mapping[tuple[str, str], list[str]]) -> list[Failure]:
    """Failures that no waiver covers, those of one test with the same words as one; `misses` by cell and test."""
    alike: dict[tuple[str, str], list[TestRow]] = {}
    for row in found:
        if row.outcome.bad and not row.borne:
            alike.setdefault((row.name, row.said), []).append(row)
    return [
        Failure(
            row=same[0],
            cells=tuple(row.cell for row in same),
            misses=tuple(dict.fromkeys(text for row in same for text in misses.get((row.cell, row.name), ())))[
                :_MISSES
            ],
        )
        for same in alike.values()
    ]


def misses_of(run_dir: Path, evidence: Evidence) -> dict[tuple[str, str], list[str]]:
    """By cell and test, the whole messages about calls that no recording answered."""
    found: dict[tuple[str, str], list[str]] = {}
    folders = [(cell, place) for cell, facts in evidence.cells.items() for place in facts.places]
    for cell, place in folders:
        for miss in jsonfile.lines(run_dir / "cells" / place / "misses.jsonl"):
            test = jsonfile.text(miss, "test_id") if miss else None
            message = jsonfile.text(miss, "message") if miss else None
            if test and message:
                found.setdefault((cell, test), []).append(message.strip("\n"))
    return found


def _rows(cell: CellFacts, waivers: tuple[Waiver, ...], today: date | None) -> Iterator[TestRow]:
    facts = tests_of(cell).facts
    # The report is asked only where the log does not know a test: that of many shards is read once more then.
    unknown = any(fact.name not in cell.log.tests for fact in facts.others)
    reported = {title(case): case.seconds for case in cell.report.cases} if unknown else {}
    for fact in facts:
        entry = cell.log.tests.get(fact.name)
        borne = today is not None and fact.outcome.bad and waiver_for(fact.name, cell.id, waivers, today) is not None
        yield TestRow(
            cell=cell.id,
            name=fact.name,
            outcome=fact.outcome,
            seconds=entry.seconds if entry is not None else reported.get(fact.name),
            attempts=entry.attempts if entry is not None else 1,
            reason=fact.reason or "",
            text=fact.text or "",
            borne=borne,
        )
