"""What became of one test, and which of two outcomes is the worse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """The states that a test ends in. The order of definition is from best to worst."""

    PASSED = "passed"
    XFAILED = "xfailed"
    XPASSED = "xpassed"
    SKIPPED = "skipped"
    FLAKY = "flaky"
    FAILED = "failed"
    ERROR = "error"

    @property
    def severity(self) -> int:
        """0 for the best; a test seen twice has the outcome with the higher number."""
        return _SEVERITY[self]

    @property
    def bad(self) -> bool:
        """Whether the test itself says that something is broken."""
        return self in (Outcome.FAILED, Outcome.ERROR)

    @property
    def passed(self) -> bool:
        """Whether the test did, in the end, what it had to: what it recorded is worth keeping."""
        return self in (Outcome.PASSED, Outcome.FLAKY, Outcome.XPASSED)

    @property
    def executed(self) -> bool:
        """Whether the test's body ran and was judged."""
        return self is not Outcome.SKIPPED


_SEVERITY = {outcome: number for number, outcome in enumerate(Outcome)}


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """The worse of the parts (set-up, call, teardown) of one test; ValueError when there are none."""
    return max(outcomes, key=lambda outcome: outcome.severity)


@dataclass(frozen=True, kw_only=True, slots=True)
class Counts:
    """How many tests ended in which state. `collected` is what pytest said it would run, None when it did not say."""

    collected: int | None = None
    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    xfailed: int = 0
    xpassed: int = 0
    flaky: int = 0

    @property
    def total(self) -> int:
        """Every test that has an outcome, skipped ones too."""
        return self.passed + self.failed + self.errors + self.skipped + self.xfailed + self.xpassed + self.flaky

    def words(self) -> str:
        """`33 passed, 1 skipped`: what is zero is not mentioned, and nothing at all is `no tests`."""
        named = {
            "passed": self.passed,
            "failed": self.failed,
            "errors": self.errors,
            "flaky": self.flaky,
            "skipped": self.skipped,
            "expected failures": self.xfailed,
            "unexpected passes": self.xpassed,
        }
        one = {"errors": "error", "expected failures": "expected failure", "unexpected passes": "unexpected pass"}
        return (
            ", ".join(
                f"{number} {one.get(word, word) if number == 1 else word}" for word, number in named.items() if number
            )
            or "no tests"
        )


def count(outcomes: Iterable[Outcome], *, collected: int | None = None) -> Counts:
    """Count outcomes, one per test."""
    found = Counter(outcomes)
    return Counts(
        collected=collected,
        passed=found[Outcome.PASSED],
        failed=found[Outcome.FAILED],
        errors=found[Outcome.ERROR],
        skipped=found[Outcome.SKIPPED],
        xfailed=found[Outcome.XFAILED],
        xpassed=found[Outcome.XPASSED],
        flaky=found[Outcome.FLAKY],
    )
