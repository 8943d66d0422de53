"""Two measurements of the same benchmarks, line by line: never an average over lines, never across machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from stackproof.evidence.benchmark import BenchmarkFacts, BenchmarkLine
from stackproof.evidence.machine import UNKNOWN
from stackproof.evidence.statistics import Interval, median_interval


class ChangeKind(StrEnum):
    """What became of one benchmark."""

    SLOWER = "slower"
    FASTER = "faster"
    NOISE = "within the noise"
    UNKNOWN = "noise not known"
    NEW = "new"
    GONE = "gone"


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchmarkChange:
    """One benchmark, now and then. by: how much more it takes now, 0.26 for a quarter more; None where one is missing.

    of: what was compared, the ratio to the floor where both have one, else seconds. Slower and faster are beyond the
    noise: the two 95 % intervals do not overlap.
    """

    name: str
    kind: ChangeKind
    by: float | None = None
    of: str = ""

    def words(self) -> str:
        """`turns +26 % × floor, within the noise`."""
        if self.by is None:
            return f"{self.name}: {self.kind.value}"
        return f"{self.name}: {self.by:+.0%} in {self.of}, {self.kind.value}"


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchmarkChanges:
    """All of them, or why they cannot be compared, with both machines."""

    changes: tuple[BenchmarkChange, ...] = ()
    not_comparable: str | None = None


def compare(now: BenchmarkFacts, then: BenchmarkFacts) -> BenchmarkChanges:
    """Line by line, in the order of now; what is gone comes last."""
    if now.machine != then.machine or now.machine == UNKNOWN:
        return BenchmarkChanges(
            not_comparable=f"not comparable: {then.machine.words()} then, {now.machine.words()} now"
        )
    changes = [_change(line, then.lines.get(name)) for name, line in now.lines.items()]
    changes += [BenchmarkChange(name=name, kind=ChangeKind.GONE) for name in then.lines if name not in now.lines]
    return BenchmarkChanges(changes=tuple(changes))


def _change(now: BenchmarkLine, then: BenchmarkLine | None) -> BenchmarkChange:
    if then is None:
        return BenchmarkChange(name=now.name, kind=ChangeKind.NEW)
    of = "ratio to the floor" if now.ratio is not None and then.ratio is not None else "time"
    new, old = (line.ratio if of != "time" else _interval(line) for line in (now, then))
    if new is None or old is None or old.estimate <= 0:
        return BenchmarkChange(name=now.name, kind=ChangeKind.UNKNOWN)
    return BenchmarkChange(name=now.name, kind=_kind(new, old), by=new.estimate / old.estimate - 1, of=of)


def _interval(line: BenchmarkLine) -> Interval | None:
    times: Sequence[float] = line.turns
    if times:
        return median_interval(times)
    return None if line.told is None else Interval(estimate=line.told.median)


def _kind(new: Interval, old: Interval) -> ChangeKind:
    if new.low is None or new.high is None or old.low is None or old.high is None:
        return ChangeKind.UNKNOWN
    if new.low > old.high:
        return ChangeKind.SLOWER
    return ChangeKind.FASTER if new.high < old.low else ChangeKind.NOISE
