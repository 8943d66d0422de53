"""The tests of a session that was killed before it wrote its report: what its log has of them."""

from __future__ import annotations

from dataclasses import replace

from stackproof.evidence.junit_case import Case, Report
from stackproof.evidence.nodeids import junit_key
from stackproof.evidence.outcomes import Outcome
from stackproof.evidence.testlog import TestLog

ENDED_INSIDE = "the session ended inside of this test"


def report_of(report: Report, log: TestLog) -> Report:
    """`report` itself where it has cases, else one from the log: finished tests, and those that never ended as errors.

    Its problems stay, so that nobody takes it for what the session wrote.
    """
    if report.cases or not (log.tests or log.running):
        return report
    cases = []
    for nodeid, entry in log.tests.items():
        classname, name = entry.report or junit_key(nodeid)
        cases.append(
            Case(
                suite="",
                classname=classname,
                name=name,
                outcome=entry.outcome,
                seconds=entry.seconds,
                message=entry.reason or "",
                text=entry.text or "",
            )
        )
    for nodeid in log.running:
        classname, name = junit_key(nodeid)
        cases.append(Case(suite="", classname=classname, name=name, outcome=Outcome.ERROR, message=ENDED_INSIDE))
    return replace(report, cases=tuple(cases))
