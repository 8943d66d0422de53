"""How long it took, from clocks of which nobody knows whether they agree.

Every cell says when it began and ended, by the clock of its machine. Only the difference of two moments of one clock is
believed. What happened on several machines took at least as long as the longest of them, and moments of different
clocks are never subtracted from each other to be relied on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median_low


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """One cell or shard by the clock of its machine. clock: what is certain to have had one clock has one name."""

    clock: str
    name: str
    started: str | None
    stopped: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Times:
    """Seconds, None where nobody said. wall: from the first start to the last end, where one clock saw both.

    longest: of what one clock saw; all of it took at least as long. span: from the first start to the last end, if all
    clocks agree. summed: of all cells and shards. clocks: how many there were. started, stopped: in ISO format; of
    several clocks the middle one's start, and `longest` after it. wrong: those that ended before they began.
    """

    wall: float | None = None
    longest: float | None = None
    span: float | None = None
    summed: float | None = None
    clocks: int = 0
    started: str | None = None
    stopped: str | None = None
    wrong: tuple[str, ...] = ()

    def words(self) -> str:
        """Wall time and summed time apart, for people; nothing where nobody said."""
        if self.summed is None or self.longest is None:
            return ""
        summed = f"{self.summed:.0f} s of cells in all"
        if self.wall is not None:
            return f"{self.wall:.0f} s from the first start to the last end, {summed}"
        span = "" if self.span is None else f", {self.span:.0f} s from the first start to the last end if clocks agree"
        return f"at least {self.longest:.0f} s (the longest on one clock){span}, {summed}"


NO_TIMES = Times()


def of(spans: Iterable[Span]) -> Times:
    """What spans of one clock or several took. A moment without a time zone, or none, counts nothing."""
    clocks: dict[str, list[datetime]] = {}
    summed = 0.0
    wrong: list[str] = []
    for each in spans:
        start, stop = _moment(each.started), _moment(each.stopped)
        if start is None or stop is None:
            continue
        if stop < start:
            wrong.append(each.name)
            continue
        summed += (stop - start).total_seconds()
        seen = clocks.setdefault(each.clock, [start, stop])
        clocks[each.clock] = [min(seen[0], start), max(seen[1], stop)]
    if not clocks:
        return Times(wrong=tuple(sorted(wrong)))
    longest = max((stop - start).total_seconds() for start, stop in clocks.values())
    span = (max(stop for _, stop in clocks.values()) - min(start for start, _ in clocks.values())).total_seconds()
    alone = len(clocks) == 1
    first = median_low(start for start, _ in clocks.values())
    return Times(
        wall=longest if alone else None,
        longest=longest,
        # What is longer than all of it one after the other was more likely measured by clocks that differ.
        span=span if not alone and span <= summed else None,
        summed=summed,
        clocks=len(clocks),
        started=first.isoformat(timespec="milliseconds"),
        stopped=_later(first, longest).isoformat(timespec="milliseconds"),
        wrong=tuple(sorted(wrong)),
    )


def _later(moment: datetime, seconds: float) -> datetime:
    try:
        return moment + timedelta(seconds=seconds)
    except OverflowError:  # a clock may say any year
        return moment


def _moment(text: str | None) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None
