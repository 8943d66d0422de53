"""The cases of a report, folded and kept small, so that a hundred thousand of them fit anywhere."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import overload

from stackproof.evidence.junit_case import Case
from stackproof.evidence.outcomes import Counts, Outcome, count, worst

UNKNOWN = math.nan
PARTS = "\0"
"""Between the parts of a key: no text of an XML file has it."""


def key_of(classname: str, name: str) -> str:
    """What a case is kept under in its suite."""
    return f"{classname}{PARTS}{name}"


@dataclass(kw_only=True, slots=True)
class SuiteRows:
    """One suite. rows: by key a case, or for one that passed and said nothing else its seconds, NaN where unknown.

    repeated: keys that were there more than once, and how often.
    """

    suite: str
    rows: dict[str, float | Case] = field(default_factory=dict)
    repeated: dict[str, int] = field(default_factory=dict)

    def case(self, key: str) -> Case:
        """The case under that key."""
        row = self.rows[key]
        return row if isinstance(row, Case) else self.passed(key, row)

    def passed(self, key: str, seconds: float = UNKNOWN) -> Case:
        """The case of that key which passed and said nothing else."""
        classname, _, name = key.partition(PARTS)
        known = None if math.isnan(seconds) else seconds
        return Case(suite=self.suite, classname=classname, name=name, outcome=Outcome.PASSED, seconds=known)

    def fold(self, key: str, case: Case) -> tuple[Case, Case]:
        """Join a case with the one of its name that is there already; the one before, and what both make."""
        before = self.case(key)
        self.repeated[key] = self.repeated.get(key, 1) + 1
        joined = before if identical(before, case) else both(before, case)
        self.rows[key] = joined
        return before, joined


class Walked(Sequence[Case]):
    """Cases that are made one after the other as somebody walks through them: one of them is found on the way."""

    @overload
    def __getitem__(self, index: int) -> Case: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Case]: ...

    def __getitem__(self, index: int | slice) -> Case | Sequence[Case]:
        if isinstance(index, slice):
            return tuple(self)[index]
        place = index if index >= 0 else len(self) + index
        for case in islice(self, place, None) if place >= 0 else ():
            return case
        raise IndexError(index)


class Cases(Walked):
    """Cases by suite and name. A test that is written twice in its suite is one, with the worse outcome."""

    def __init__(self) -> None:
        self.suites: dict[str, SuiteRows] = {}

    @classmethod
    def of(cls, cases: Iterable[Case]) -> Cases:
        """The same cases, folded; `cases` itself where it is such a table already."""
        if isinstance(cases, cls):
            return cases
        made = cls()
        for case in cases:
            rows = made.suite(case.suite)
            key = key_of(case.classname, case.name)
            if key in rows.rows:
                rows.fold(key, case)
            else:
                rows.rows[key] = case
        return made

    def suite(self, name: str) -> SuiteRows:
        """The rows of the suite of that path."""
        return self.suites.get(name) or self.suites.setdefault(name, SuiteRows(suite=name))

    @property
    def counts(self) -> Counts:
        """How many ended in which state."""
        told = [row.outcome for suite in self.suites.values() for row in suite.rows.values() if isinstance(row, Case)]
        counted = count(told)
        return replace(counted, passed=counted.passed + len(self) - len(told))

    @property
    def seconds(self) -> float | None:
        """Of all cases together, None where none says how long it took."""
        times = (
            (row.seconds if isinstance(row, Case) else row)
            for suite in self.suites.values()
            for row in suite.rows.values()
        )
        known = [time for time in times if time is not None and not math.isnan(time)]
        return sum(known) if known else None

    def __len__(self) -> int:
        return sum(len(suite.rows) for suite in self.suites.values())

    def __iter__(self) -> Iterator[Case]:
        for suite in self.suites.values():
            for key in suite.rows:
                yield suite.case(key)


def identical(first: Case, second: Case) -> bool:
    """Whether two cases of one name say the same, wherever they stand: the report has one and the same test twice."""
    return replace(first, line=0, output="") == replace(second, line=0, output="")


def both(first: Case, second: Case) -> Case:
    """Two cases of one test, its call and its teardown say: the worse outcome, and the words of both."""
    known = [value for value in (first.seconds, second.seconds) if value is not None]
    return replace(
        first,
        outcome=worst((first.outcome, second.outcome)),
        seconds=sum(known) if known else None,
        message="; ".join(filter(None, (first.message, second.message))),
        text="\n".join(filter(None, (first.text, second.text))),
        output="\n".join(filter(None, (first.output, second.output))),
        properties=(*first.properties, *(pair for pair in second.properties if pair not in first.properties)),
    )
