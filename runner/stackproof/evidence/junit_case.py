"""What a JUnit report is made of, once read: cases, what is wrong with the file, what is worth knowing of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from stackproof.evidence.outcomes import Counts, Outcome, count

OUTSIDE = "outside any test"
"""The name of the case that stands for failures and errors which a report has beside its cases."""


class ProblemKind(StrEnum):
    """Why a report cannot be taken at its word."""

    MISSING = "missing"
    EMPTY = "empty"
    UNREADABLE = "unreadable"
    TRUNCATED = "truncated"
    REFUSED = "refused"
    COUNTS = "counts"
    STATUS = "status"


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """One reason, in words that name the place."""

    kind: ProblemKind
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One test. `seconds` is None where the report does not say or says something that is no duration.

    line: of the file, from 1; 0 where it comes from no file, or where `read` has only its name and time to keep: it
    passed. output: what it wrote; only `junit.stream` keeps it.
    """

    suite: str
    classname: str
    name: str
    outcome: Outcome
    seconds: float | None = None
    message: str = ""
    text: str = ""
    output: str = ""
    properties: tuple[tuple[str, str], ...] = ()
    line: int = 0

    @property
    def key(self) -> tuple[str, str]:
        """What names the test: two classes may each have a `test_get`."""
        return (self.classname, self.name)


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """A report with its folded cases, in file order. With problems it still holds what could be read.

    notes: what was seen and changes nothing: cases that are there twice, failures beside the cases, cut texts.
    """

    path: Path
    cases: Sequence[Case] = ()
    properties: tuple[tuple[str, str], ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def counts(self) -> Counts:
        """Counts over the folded cases."""
        counted = getattr(self.cases, "counts", None)
        return counted if isinstance(counted, Counts) else count(case.outcome for case in self.cases)
