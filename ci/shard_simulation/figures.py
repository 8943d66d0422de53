"""Everything that is put on the page, and how several seeds become one figure."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ci.shard_simulation.comparing import Compared
from ci.shard_simulation.durations import Measured
from ci.shard_simulation.planning import Planned
from ci.shard_simulation.scenarios import Outcome

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Figures:
    """All outcomes of one run of the simulation. took: seconds of processor time; most: bytes of memory of
    a process; machine: in words."""

    measured: Measured
    outcomes: Sequence[Outcome]
    spares: Sequence[Outcome]
    compared: Sequence[Compared]
    planned: Sequence[Planned]
    took: float
    most: int
    machine: str
    versions: str
    date: str
    load: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Spread:
    """Several seeds: the median, the least and the most of them."""

    middle: float
    least: float
    most: float

    def words(self, form: str = ".2f") -> str:
        """`1.13 (1.09 to 1.21)`; one figure where all of them read the same."""
        middle, least, most = (format(each, form) for each in (self.middle, self.least, self.most))
        return middle if least == most else f"{middle} ({least} to {most})"


def spread(items: Iterable[_T], of: Callable[[_T], float]) -> Spread:
    """The spread of one figure over some outcomes; there has to be one."""
    values = [of(item) for item in items]
    return Spread(middle=statistics.median(values), least=min(values), most=max(values))
