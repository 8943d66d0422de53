"""The tests of many sessions as those of one cell, taken in one after the other: only one report is held at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from stackproof.evidence import jsonfile, rescued, testlog
from stackproof.evidence.junit_case import Problem, Report
from stackproof.evidence.junit_cases import Cases
from stackproof.evidence.junit_files import CasesOfFiles
from stackproof.evidence.nodeids import junit_key
from stackproof.evidence.outcomes import Counts, Outcome
from stackproof.evidence.read import CellFacts
from stackproof.evidence.recordings import Misses
from stackproof.evidence.testlog import Entries, TestEntry, TestLog
from stackproof.evidence.witnesses import Facts, TestFact, Tests, join


@dataclass(frozen=True, kw_only=True, slots=True)
class Wavered:
    """A test that ended otherwise when its shard ran again."""

    test: str
    first: Outcome
    again: Outcome


@dataclass(frozen=True, kw_only=True, slots=True)
class Repeated:
    """What another run of a session said. strange: tests that the first one does not have."""

    tests: Tests
    wavered: tuple[Wavered, ...]
    strange: tuple[str, ...]


class Folding:
    """What the sessions have said so far. Nothing of it depends on the order in which they come, but that of tests."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.notes: list[str] = []
        self.contradictions: list[str] = []
        self.running: list[str] = []
        self.last: str | None = None
        self.damaged = 0
        self.damaged_at: int | None = None
        self._rows: dict[str, float | TestEntry] = {}
        self._collected: dict[str, None] = {}
        self._says_all = True  # whether every session said what it collected
        self._others: dict[str, TestFact] = {}
        self._calls: dict[str, Any] | None = {}
        self._misses: tuple[set[str], set[str], set[str]] = (set(), set(), set())
        self._paths: list[Path] = []
        self._again: set[tuple[str, str]] = set()
        self._properties: dict[tuple[str, str], None] = {}
        self._counts = Counts()
        self._seconds: float | None = None

    def add(self, cell: CellFacts) -> tuple[list[str], Tests]:
        """Take in a session; the names of tests that were there before, and its own tests."""
        tests = join(cell.report, cell.log)
        rows = Entries.of(cell.log.tests).rows
        twice = testlog.fold(self._rows, rows)
        self._again.update(map(junit_key, twice))
        for fact in tests.facts.others:
            before = self._others.get(fact.name)
            self._others[fact.name] = fact if before is None else _worse(before, fact)
        self._report(rescued.report_of(cell.report, cell.log))
        self._log(cell.log)
        self._count_calls(cell.log, most=False)
        self._missed(cell.misses)
        return twice, tests

    def repeat(self, cell: CellFacts, own: frozenset[str], *, to_blame: bool) -> Repeated:
        """Take in another run of a session that was taken in: of each test the worse counts.

        own: the tests of the first. to_blame: whether a test in which it ended is what ended it.
        """
        tests = join(cell.report, cell.log)
        found = list(tests.facts)
        if to_blame:
            found += [
                TestFact(name=nodeid, outcome=Outcome.FLAKY, reason=rescued.ENDED_INSIDE) for nodeid in cell.log.running
            ]
        wavered, strange = [], []
        for fact in found:
            if fact.name not in own:
                strange.append(fact.name)
                testlog.fold(self._rows, {fact.name: _entry(fact)})
                self._others[fact.name] = fact
                continue
            before = self._others.get(fact.name)
            first = Outcome.PASSED if before is None else before.outcome
            if first is fact.outcome:
                continue
            wavered.append(Wavered(test=fact.name, first=first, again=fact.outcome))
            if fact.outcome.severity > first.severity:
                self._others[fact.name] = fact
                self._rows[fact.name] = _entry(fact, self._rows.get(fact.name))
        if wavered and cell.report.cases:
            self._again.update(map(junit_key, own))
            self._paths.append(cell.report.path)
        self._count_calls(cell.log, most=True)
        self._missed(cell.misses)
        return Repeated(tests=tests, wavered=tuple(wavered), strange=tuple(strange))

    def _report(self, report: Report) -> None:
        cases = Cases.of(report.cases)
        self.notes += report.notes
        self.problems += report.problems
        self._paths.append(report.path)
        self._properties.update(dict.fromkeys(report.properties))
        self._counts = _sum(self._counts, cases.counts)
        if (seconds := cases.seconds) is not None:
            self._seconds = (self._seconds or 0) + seconds

    def _log(self, log: TestLog) -> None:
        self._says_all = self._says_all and log.collected is not None
        self._collected.update(dict.fromkeys(log.collected or ()))
        self.running += log.running
        self.last = log.last or self.last
        self.damaged += log.damaged
        self.damaged_at = self.damaged_at or log.damaged_at

    def _missed(self, misses: Misses) -> None:
        for kept, more in zip(self._misses, (misses.damaged, misses.network, misses.tests), strict=True):
            kept.update(more)

    def _count_calls(self, log: TestLog, *, most: bool) -> None:
        """Numbers added and lists joined; of another run of the same, the larger number."""
        if log.calls is None or self._calls is None:
            self._calls = self._calls if most else None
            return
        for key, value in log.calls.items():
            before = self._calls.get(key)
            if isinstance(before, list) and isinstance(value, list):
                before += [each for each in value if not most or each not in before]
            elif type(before) is int and type(value) is int:
                self._calls[key] = max(before, value) if most else before + value
            elif before is None:
                self._calls[key] = list(value) if isinstance(value, list) else value

    @property
    def undecided(self) -> frozenset[str]:
        """Recordings of fixtures that some shard did not use, and left to others to use; below the recording folder."""
        files = (self._calls or {}).get("undecided_files")
        return frozenset(each for each in files if isinstance(each, str)) if isinstance(files, list) else frozenset()

    def found_unused(self, files: Sequence[str]) -> None:
        """Count recordings that no shard used."""
        if self._calls is not None and files:
            self._calls["unused"] = jsonfile.number(self._calls, "unused") or 0
            self._calls["unused"] += len(files)
            self._calls["unused_files"] = [*jsonfile.strings(self._calls, "unused_files"), *files]

    def misses(self) -> Misses:
        """Of all of them."""
        damaged, network, tests = self._misses
        return Misses(damaged=tuple(sorted(damaged)), network=tuple(sorted(network)), tests=frozenset(tests))

    def report(self) -> Report:
        """One report over all of them."""
        again = frozenset(self._again)
        cases = CasesOfFiles(tuple(self._paths), alone=self._counts, seconds=self._seconds, again=again)
        return Report(
            path=self._paths[0],
            cases=cases,
            properties=tuple(self._properties),
            problems=tuple(self.problems),
            notes=tuple(self.notes),
        )

    def log(self, *, present: bool, exitstatus: int | None, partly: bool = False) -> TestLog:
        """One log over all of them. partly: name what was collected also where not every session said it."""
        return TestLog(
            present=present,
            collected=tuple(self._collected) if self._says_all or partly else None,
            tests=Entries(self._rows),
            calls=self._calls,
            exitstatus=exitstatus,
            running=tuple(self.running),
            last=self.last,
            damaged=self.damaged,
            damaged_at=self.damaged_at,
        )

    @property
    def says_all(self) -> bool:
        """Whether every session said which tests it collected."""
        return self._says_all

    @property
    def collected(self) -> int:
        """How many tests were collected, each counted once."""
        return len(self._collected)

    def tests(self) -> Tests:
        """Every test once, with the worst that was said of it."""
        others = dict(self._others)
        rows: list[str | TestFact] = [others.pop(nodeid, nodeid) for nodeid in self._rows]
        return Tests(facts=Facts([*rows, *others.values()]), contradictions=tuple(self.contradictions))


def _worse(first: TestFact, second: TestFact) -> TestFact:
    return second if second.outcome.severity > first.outcome.severity else first


def _entry(fact: TestFact, before: float | TestEntry | None = None) -> TestEntry:
    """As a log would have it. before: what the other run said of it."""
    seconds = before.seconds if isinstance(before, TestEntry) else before
    if seconds is not None and math.isnan(seconds):
        seconds = None
    return TestEntry(
        nodeid=fact.name, outcome=fact.outcome, reason=fact.reason, text=fact.text, seconds=seconds, attempts=2
    )


def _sum(first: Counts, second: Counts) -> Counts:
    numbers = {
        each.name: getattr(first, each.name) + getattr(second, each.name)
        for each in fields(Counts)
        if each.name != "collected"
    }
    return replace(first, **numbers)
