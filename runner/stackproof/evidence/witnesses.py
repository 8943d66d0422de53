"""Puts two witnesses of a session, the JUnit report and the plugin's log, beside each other, test by test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from typing import overload

from stackproof.evidence.junit_case import Case, Report
from stackproof.evidence.junit_cases import PARTS, Cases, SuiteRows
from stackproof.evidence.nodeids import row_key, title
from stackproof.evidence.outcomes import Counts, Outcome, count, worst
from stackproof.evidence.testlog import Entries, TestEntry, TestLog

# pytest's report has no word of its own for these, so that both spellings agree.
_ALIKE = {Outcome.FLAKY: Outcome.PASSED, Outcome.XPASSED: Outcome.PASSED, Outcome.ERROR: Outcome.FAILED}


@dataclass(frozen=True, kw_only=True, slots=True)
class TestFact:
    """One test with the worse of what its witnesses say. `name` is its node id wherever the log has it."""

    __test__ = False

    name: str
    outcome: Outcome
    reason: str | None = None
    text: str | None = None


class Facts(Sequence[TestFact]):
    """Tests in their order, kept small: of one that passed and said nothing there is the name alone."""

    def __init__(self, rows: Sequence[str | TestFact]) -> None:
        self._rows = rows

    @classmethod
    def of(cls, facts: Sequence[TestFact]) -> Facts:
        """The same tests; `facts` itself where it is such a list already."""
        return facts if isinstance(facts, cls) else cls(facts)

    @cached_property
    def others(self) -> tuple[TestFact, ...]:
        """Those that did, or said, more than pass."""
        return tuple(row for row in self._rows if isinstance(row, TestFact))

    def passed(self, names: AbstractSet[str]) -> list[str]:
        """Which of `names` passed and said nothing, in order."""
        return sorted(names & {row for row in self._rows if isinstance(row, str)}) if names else []

    @cached_property
    def counts(self) -> Counts:
        """How many ended in which state."""
        told = count(fact.outcome for fact in self.others)
        return replace(told, passed=told.passed + len(self._rows) - len(self.others))

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[TestFact]:
        return (_fact(row) for row in self._rows)

    @overload
    def __getitem__(self, index: int) -> TestFact: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[TestFact]: ...

    def __getitem__(self, index: int | slice) -> TestFact | Sequence[TestFact]:
        return Facts(self._rows[index]) if isinstance(index, slice) else _fact(self._rows[index])


def _fact(row: str | TestFact) -> TestFact:
    return TestFact(name=row, outcome=Outcome.PASSED) if isinstance(row, str) else row


@dataclass(frozen=True, kw_only=True, slots=True)
class Tests:
    """All tests of a cell, and the sentences in which the witnesses contradict each other."""

    facts: Facts
    contradictions: tuple[str, ...]


NO_TESTS = Tests(facts=Facts(()), contradictions=())
"""Of a cell that is not there."""


def join(report: Report, log: TestLog) -> Tests:
    """Join by name: every test of either witness appears once."""
    left = _by_key(Cases.of(report.cases))
    rows: list[str | TestFact] = []
    contradictions: list[str] = []
    for nodeid, entry in Entries.of(log.tests).rows.items():
        named = None if isinstance(entry, float) else entry.report
        found = left.pop(row_key(nodeid) if named is None else PARTS.join(named), None)
        if type(found) is float and type(entry) is float:
            rows.append(nodeid)  # as nearly all are: both say that it passed, and nothing else
            continue
        whole = log.tests[nodeid]
        cases = _cases(found)
        rows.append(_joined(nodeid, whole, cases))
        if found is None:
            contradictions.append(f"{nodeid} is in the log and not in the report")
        elif not _agree(whole.outcome, (said := worst([case.outcome for case in cases] or [Outcome.PASSED]))):
            contradictions.append(f"{nodeid} is {whole.outcome.value} in the log and {said.value} in the report")
    for key, found in left.items():
        for case in _cases(found) or [SuiteRows(suite="").passed(key)]:
            rows.append(_from_report(case))
            contradictions.append(f"{title(case)} is in the report and not in the log")
    return Tests(facts=Facts(rows), contradictions=tuple(contradictions))


_Found = float | Case | list[float | Case]


def _by_key(cases: Cases) -> dict[str, _Found]:
    """What a report has of each name: one row, or several where several suites have such a test."""
    filled = [suite.rows for suite in cases.suites.values() if suite.rows]
    found: dict[str, _Found] = dict(filled[0]) if filled else {}
    for rows in filled[1:]:
        for key, row in rows.items():
            before = found.setdefault(key, row)
            if before is not row:
                found[key] = [*before, row] if isinstance(before, list) else [before, row]
    return found


def _cases(found: _Found | None) -> list[Case]:
    """The cases that say more than that they passed."""
    rows = found if isinstance(found, list) else [found]
    return [row for row in rows if isinstance(row, Case)]


def _joined(nodeid: str, entry: TestEntry, cases: list[Case]) -> str | TestFact:
    outcome = worst((entry.outcome, *(case.outcome for case in cases)))
    message = next((case.message for case in cases if case.message), None)
    text = next((case.text for case in cases if case.text), None)
    reason, words = entry.reason or message, entry.text or message or text
    if outcome is Outcome.PASSED and not reason and not words:
        return nodeid
    return TestFact(name=nodeid, outcome=outcome, reason=reason, text=words)


def _from_report(case: Case) -> TestFact:
    return TestFact(name=title(case), outcome=case.outcome, reason=case.message or None, text=case.text or None)


def _agree(log: Outcome, report: Outcome) -> bool:
    return _ALIKE.get(log, log) is _ALIKE.get(report, report)
