"""Percentiles and an interval for timings, by rank: no distribution is assumed and no chance is involved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95


@dataclass(frozen=True, kw_only=True, slots=True)
class Interval:
    """An estimate and the ends of its interval; the ends are None when there are too few samples for one."""

    estimate: float
    low: float | None = None
    high: float | None = None


def nearest_rank(values: Sequence[float], percent: float) -> float:
    """The smallest value with at least `percent` % of the values at or below it; ValueError when there are none."""
    if not values:
        raise ValueError("no value has no percentile")
    return sorted(values)[max(1, math.ceil(percent / 100 * len(values))) - 1]


def median(values: Sequence[float]) -> float:
    """The middle value, or the mean of the two in the middle; ValueError when there are none."""
    if not values:
        raise ValueError("no value has no median")
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2


def median_interval(values: Sequence[float]) -> Interval:
    """The median with the ends of its 95 % interval.

    The ends are the order statistics whose ranks a binomial distribution of one half leaves out with at most 5 %
    (the sign test turned round): 20 samples give the 6th and the 15th. Fewer than 6 samples give no interval.
    """
    number = len(values)
    below, rank = 0.0, 0
    while rank < number and below + math.comb(number, rank) / 2**number <= (1 - CONFIDENCE) / 2:
        below += math.comb(number, rank) / 2**number
        rank += 1
    if rank == 0:
        return Interval(estimate=median(values))
    ordered = sorted(values)
    return Interval(estimate=median(values), low=ordered[rank - 1], high=ordered[number - rank])
