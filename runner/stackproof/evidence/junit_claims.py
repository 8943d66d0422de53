"""What a suite's attributes claim, compared with the cases that are in it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from stackproof.evidence.outcomes import Outcome


def seconds(text: str | None) -> float | None:
    """A duration in seconds: `1,234.5` is read, anything that is no finite number of at least 0 is None (unknown)."""
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        try:
            value = float(text.replace(",", ""))
        except ValueError:
            return None
    return value if 0 <= value < math.inf else None


@dataclass(kw_only=True, slots=True)
class SuiteSeen:
    """A suite while it is read, and what was seen in it and in the suites inside it.

    path: the names of this suite and of those around it. claims: its attributes. written: cases. surplus: marks beyond
    the first of each case. again: cases that were there before. marks: how many of each. outcomes: of the folded cases
    that did more than pass. outside: failures and errors beside the cases.
    """

    path: str
    claims: Mapping[str, str]
    line: int
    written: int = 0
    surplus: int = 0
    again: int = 0
    marks: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    outside: int = 0

    def into(self, outer: SuiteSeen) -> None:
        """Add what was seen to the suite around this one."""
        outer.written += self.written
        outer.surplus += self.surplus
        outer.again += self.again
        outer.outside += self.outside
        outer.marks.update(self.marks)
        outer.outcomes.update(self.outcomes)

    def disagreements(self) -> Iterator[str]:
        """A sentence for each attribute that fits no way of counting what is there.

        Writers count cases, tests or marks: any of these counts is taken. pytest counts marks and writes every attempt
        of a rerun as a case (junitxml.py, pytest_sessionfinish); CTest counts what is disabled apart from what is
        skipped, and marks both alike.
        """
        marks, has = self.marks, self.outcomes
        skipped = {marks["skipped"], has[Outcome.SKIPPED], self._not_run}
        apart = int(seconds(self.claims.get("disabled")) or 0)
        allowed: dict[str, Collection[int]] = {
            "tests": range(self.written - self.again, self.written + self.surplus + self.outside + 1),
            "failures": {marks["failure"], has[Outcome.FAILED], has[Outcome.FAILED] + has[Outcome.ERROR]},
            "errors": {marks["error"], has[Outcome.ERROR]},
            "skipped": skipped | {number - apart for number in skipped if number >= apart},
        }
        for attribute, numbers in allowed.items():
            if (claimed := self.claims.get(attribute)) is not None and seconds(claimed) not in numbers:
                makes = " or ".join(str(each) for each in sorted({min(numbers), max(numbers)}))
                yield f"line {self.line} claims {attribute}={claimed!r}, its test cases make {makes}"

    @property
    def _not_run(self) -> int:
        """An expected failure is written as a skip by those who have no word for it."""
        return self.outcomes[Outcome.SKIPPED] + self.outcomes[Outcome.XFAILED] + self.outcomes[Outcome.XPASSED]
