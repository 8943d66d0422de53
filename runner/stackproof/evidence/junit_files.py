"""The cases of several reports of one cell, which are never held together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from stackproof.evidence import junit, rescued, testlog
from stackproof.evidence.junit_case import Case, Report
from stackproof.evidence.junit_cases import Walked, both, identical
from stackproof.evidence.outcomes import Counts, count
from stackproof.evidence.testlog import TestLog


class CasesOfFiles(Walked):
    """Cases that are read anew each time that somebody asks, a report at a time.

    alone: how many each report has of each outcome, summed. again: tests, as class name and name, that are in more than
    one of the reports: each is one case, with the worse outcome.
    """

    def __init__(
        self, paths: Sequence[Path], *, alone: Counts, seconds: float | None, again: frozenset[tuple[str, str]]
    ) -> None:
        self.paths = paths
        self.seconds = seconds
        self._alone = alone
        self._again = again

    @cached_property
    def counts(self) -> Counts:
        """How many ended in which state."""
        return count(case.outcome for case in self) if self._again else self._alone

    def reports(self) -> Iterator[Report]:
        """One after the other; of a session that was killed, what its log has."""
        for path in self.paths:
            report = junit.read(path)
            log = TestLog() if report.cases else testlog.read(path.with_name("tests.jsonl"))
            yield rescued.report_of(report, log)

    def folded(self, cases: Iterator[Case]) -> Iterator[Case]:
        """`cases` of all these reports, those that are there again as one, at the end."""
        waiting: dict[tuple[str, str], Case] = {}
        for case in cases:
            if case.key not in self._again:
                yield case
            elif (before := waiting.get(case.key)) is None:
                waiting[case.key] = case
            elif not identical(before, case):
                waiting[case.key] = both(before, case)
        yield from waiting.values()

    def __len__(self) -> int:
        return self.counts.total

    def __iter__(self) -> Iterator[Case]:
        return self.folded(case for report in self.reports() for case in report.cases)
