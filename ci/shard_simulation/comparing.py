"""Ways of dividing side by side: how even the parts are, and how many tests change parts when one is added."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from ci.shard_simulation import durations
from ci.shard_simulation.durations import Measured
from ci.shard_simulation.others import WAYS
from ci.shard_simulation.scenarios import STALE, Suite


@dataclass(frozen=True, kw_only=True, slots=True)
class Compared:
    """One way with one seed. ratio: the longest part by the larger of the mean part and the longest test.

    moved: tests that are in another part once one test without a time was added among the others.
    """

    way: str
    tests: int
    parts: int
    seed: int
    ratio: float
    moved: int


def compare(measured: Measured, tests: int, parts: int, seed: int) -> Iterator[Compared]:
    """Every way, with stale times: 30 % noise, one test in ten unknown."""
    chance = np.random.default_rng([seed, tests, parts])
    suite = Suite(names=durations.names(tests), seconds=durations.drawn(measured, tests, chance))
    known = suite.known(STALE, chance)
    bound = max(float(suite.seconds.sum()) / parts, float(suite.seconds.max()))
    middle = tests // 2
    more = [*suite.names[:middle], suite.names[middle] + "[new]", *suite.names[middle:]]
    for name, way in WAYS.items():
        found, after = way(suite.names, parts, known), np.delete(way(more, parts, known), middle)
        longest = np.bincount(found, weights=suite.seconds, minlength=parts).max()
        yield Compared(
            way=name,
            tests=tests,
            parts=parts,
            seed=seed,
            ratio=float(longest) / bound,
            moved=int((found != after).sum()),
        )
