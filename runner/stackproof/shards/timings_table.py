"""Times of tests while they are gathered from many places, and what they come to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median

_LONGEST = 1e7  # seconds; more is no duration of a test


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class CellKey:
    """stack: as `--stack-config` has it, `server:reference`."""

    suite: str
    setup: str
    stack: str

    def __str__(self) -> str:
        return f"{self.suite} × {self.setup} × {self.stack}"


@dataclass(frozen=True, kw_only=True, slots=True)
class CellTimes:
    """tests: seconds by node id. start: seconds of the cell beside its tests, None where nobody measured it."""

    tests: Mapping[str, float]
    start: float | None = None


@dataclass(slots=True)
class Gathered:
    """Takes times in, in any order."""

    problems: list[str] = field(default_factory=list)
    _tests: dict[CellKey, dict[str, list[float]]] = field(default_factory=dict)
    _starts: dict[CellKey, list[float]] = field(default_factory=dict)
    _rows: dict[str, list[float]] = field(default_factory=dict)

    def test(self, key: CellKey, nodeid: str, seconds: float) -> None:
        """One test of one run."""
        if is_time(seconds):
            self._tests.setdefault(key, {}).setdefault(nodeid, []).append(seconds)

    def start(self, key: CellKey, seconds: float) -> None:
        """One start of a cell."""
        if is_time(seconds):
            self._starts.setdefault(key, []).append(seconds)

    def row(self, name: str, seconds: float) -> None:
        """One case of a report."""
        if is_time(seconds):
            self._rows.setdefault(name, []).append(seconds)

    def cells(self) -> dict[CellKey, CellTimes]:
        """The median of each, of cells of which a test has a time."""
        return {
            key: CellTimes(tests=_medians(tests), start=_median(self._starts.get(key, ())))
            for key, tests in sorted(self._tests.items())
        }

    def row_seconds(self) -> dict[str, float]:
        """The median of each case."""
        return _medians(self._rows)


def is_time(seconds: float) -> bool:
    """Whether it is a duration at all."""
    return 0 <= seconds < _LONGEST  # NaN is not; a whole number may be too large to be looked at as a float


def _medians(several: Mapping[str, list[float]]) -> dict[str, float]:
    return {name: median(values) for name, values in several.items()}


def _median(values: Iterable[float]) -> float | None:
    found = list(values)
    return median(found) if found else None
