"""Puts a cell's two witnesses, the JUnit report and the plugin's log, beside each other, test by test."""

from __future__ import annotations

from dataclasses import dataclass

from stackproof.evidence.junit import Case
from stackproof.evidence.nodeids import junit_key, title
from stackproof.evidence.outcomes import Outcome, worst
from stackproof.evidence.read import CellFacts
from stackproof.evidence.testlog import TestEntry

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Tests:
    """All tests of a cell, and the sentences in which the witnesses contradict each other."""

    facts: tuple[TestFact, ...]
    contradictions: tuple[str, ...]


def tests_of(cell: CellFacts) -> Tests:
    """Join by name: every test of either witness appears once."""
    by_key: dict[tuple[str, str], list[Case]] = {}
    for case in cell.report.cases:
        by_key.setdefault(case.key, []).append(case)
    facts: list[TestFact] = []
    contradictions: list[str] = []
    for nodeid, entry in cell.log.tests.items():
        cases = by_key.pop(entry.report or junit_key(nodeid), [])
        facts.append(_joined(nodeid, entry, cases))
        if not cases:
            contradictions.append(f"{nodeid} is in the log and not in the report")
        elif not _agree(entry.outcome, (said := worst(case.outcome for case in cases))):
            contradictions.append(f"{nodeid} is {entry.outcome.value} in the log and {said.value} in the report")
    for cases in by_key.values():
        for case in cases:
            facts.append(
                TestFact(name=title(case), outcome=case.outcome, reason=case.message or None, text=case.text or None)
            )
            contradictions.append(f"{title(case)} is in the report and not in the log")
    return Tests(facts=tuple(facts), contradictions=tuple(contradictions))


def _joined(nodeid: str, entry: TestEntry, cases: list[Case]) -> TestFact:
    outcome = worst((entry.outcome, *(case.outcome for case in cases)))
    message = next((case.message for case in cases if case.message), None)
    text = next((case.text for case in cases if case.text), None)
    return TestFact(name=nodeid, outcome=outcome, reason=entry.reason or message, text=entry.text or message or text)


def _agree(log: Outcome, report: Outcome) -> bool:
    return _ALIKE.get(log, log) is _ALIKE.get(report, report)
