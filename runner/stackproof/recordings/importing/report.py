"""What became of the files that were imported, counted for a person and for a program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Fate(StrEnum):
    """What became of one call of a source."""

    WRITTEN = "written"
    PRESENT = "present"  # an equal recording was there before this import
    FOLDED = "folded"  # equal to another call of the same import


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """A source, or one call of it, that was not imported."""

    source: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """The whole import. files: sources read. kinds: kind -> fate -> calls. setups: setup -> calls imported.

    lost: what did not travel with calls that were imported -> how many calls it was part of.
    """

    files: int
    kinds: Mapping[str, Mapping[Fate, int]]
    setups: Mapping[str, int]
    refused: tuple[Refusal, ...]
    lost: Mapping[str, int] = field(default_factory=dict)

    @property
    def imported(self) -> int:
        """Calls that have a recording now, whoever wrote it."""
        return sum(sum(fates.values()) for fates in self.kinds.values())

    def count(self, fate: Fate) -> int:
        """Calls with this fate."""
        return sum(fates.get(fate, 0) for fates in self.kinds.values())

    @property
    def reasons(self) -> dict[str, list[str]]:
        """Reason -> sources, the most frequent first."""
        found: dict[str, list[str]] = {}
        for item in self.refused:
            found.setdefault(item.reason, []).append(item.source)
        return dict(sorted(found.items(), key=lambda pair: (-len(pair[1]), pair[0])))


class Tally:
    """Counts while the import goes on."""

    def __init__(self) -> None:
        self._files = 0
        self._kinds: dict[str, Counter[Fate]] = {}
        self._setups: Counter[str] = Counter()
        self._refused: list[Refusal] = []
        self._lost: Counter[str] = Counter()

    def file(self) -> None:
        """One more source was looked at."""
        self._files += 1

    def placed(self, kind: str, setup: str, fate: Fate) -> None:
        """One call has a recording."""
        self._kinds.setdefault(kind, Counter())[fate] += 1
        self._setups[setup] += 1

    def lost(self, what: Iterable[str]) -> None:
        """Something did not travel with a call that was imported."""
        self._lost.update(what)

    def refused(self, source: str, reason: object) -> None:
        """One source, or one call of it, was not taken."""
        self._refused.append(Refusal(source=source, reason=str(reason)))

    def report(self) -> Report:
        """What was counted so far."""
        return Report(
            files=self._files,
            kinds={kind: dict(self._kinds[kind]) for kind in sorted(self._kinds)},
            setups=dict(sorted(self._setups.items())),
            refused=tuple(self._refused),
            lost=dict(self._lost.most_common()),
        )
