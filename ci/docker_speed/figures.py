"""Medians of what took turns, and how they compare."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

_DRAWS = 10_000
_SEED = 9


@dataclass(frozen=True, kw_only=True, slots=True)
class Ratio:
    """A ratio of medians, with the ends of its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """As it stands in a table: `1.18 (1.12 to 1.25)`."""
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


def ratio(ours: Sequence[float], other: Sequence[float]) -> Ratio:
    """Median of `ours` by that of `other`; ours[i] and other[i] are of one round.

    The interval is a percentile bootstrap, with a fixed seed: rounds are drawn, both figures of one together.
    """
    chance = random.Random(_SEED)  # noqa: S311 - nothing secret
    rounds = range(len(ours))
    drawn = []
    for _ in range(_DRAWS):
        picked = [chance.choice(rounds) for _ in rounds]
        drawn.append(median(ours[index] for index in picked) / median(other[index] for index in picked))
    drawn.sort()
    return Ratio(
        value=median(ours) / median(other), low=drawn[int(_DRAWS * 0.025)], high=drawn[int(_DRAWS * 0.975) - 1]
    )


def seconds(values: Sequence[float]) -> str:
    """Median and range: `1.52 s (1.43 to 1.75)`."""
    return f"{median(values):.2f} s ({min(values):.2f} to {max(values):.2f})"
