"""What a check says: one sentence on one thing, and what to do where it is not as it should be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from stackproof.errors import StackproofError


class Level(StrEnum):
    """OK: nothing to do. ODD: a run may go another way than is meant. MISSING: it stands in the way of a replay."""

    OK = "ok"
    ODD = "odd"
    MISSING = "missing"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """id: `check.word`, stable. subject: the thing in question; says: what is said of it, so that both are a sentence.

    remedy: None only where nothing is to be done.
    """

    id: str
    level: Level
    subject: str
    says: str
    remedy: str | None = None

    @property
    def check(self) -> str:
        """The check that it is of."""
        return self.id.partition(".")[0]


def ok(name: str, subject: str, says: str) -> Finding:
    """Something that is as it should be."""
    return Finding(id=name, level=Level.OK, subject=subject, says=says)


def odd(name: str, subject: str, says: str, remedy: str) -> Finding:
    """Something that may surprise, and stands in the way of nothing."""
    return Finding(id=name, level=Level.ODD, subject=subject, says=says, remedy=remedy)


def missing(name: str, subject: str, says: str, remedy: str) -> Finding:
    """Something without which a replay run does not come to its end."""
    return Finding(id=name, level=Level.MISSING, subject=subject, says=says, remedy=remedy)


def refused(name: str, subject: str, error: StackproofError, remedy: str) -> Finding:
    """What a run would be refused with; remedy: where the error names none."""
    return missing(name, subject, error.message, error.hint or remedy)


def some(names: Sequence[str], shown: int = 3) -> str:
    """The first of many names, and how many more there are."""
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(names[:shown]) + more
