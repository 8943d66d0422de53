"""What more shards than nodes buy: the same nodes and the same suite, divided ever finer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ci.shard_simulation.durations import Measured
from ci.shard_simulation.scenarios import SCENARIOS, Outcome, simulate

NODES = 64
TIMES = (1, 2, 4, 8, 16, 32)
_WHICH = ("exact", "slow", "dying", "all")


def simulate_spares(
    measured: Measured, tests: int, seed: int, *, nodes: int = NODES, times: Sequence[int] = TIMES
) -> Iterator[Outcome]:
    """Outcomes on so many nodes with once, twice, … as many shards."""
    for each in times:
        which = [replace(one, nodes=1 / each) for one in SCENARIOS if one.name in _WHICH]
        yield from simulate(measured, tests, [nodes * each], seed, which)
