"""A run over shards, event by event: nodes take shards from a queue, are slow, and die.

A node starts the software under test anew for each shard and then runs its tests. A node that dies is noticed after a
while; what it ran is put in front of the queue and runs again from its start, elsewhere. What it did is lost: evidence
of a shard comes whole or not at all.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class Cluster:
    """speeds: of each node, 1 for one on which tests take what they took when they were measured. start: seconds that a
    shard takes beside its tests at speed 1. dies: when nodes die, in seconds from the beginning. noticed: seconds from
    then until the shard is given to another.
    """

    speeds: Sequence[float]
    start: float
    dies: Mapping[int, float] = field(default_factory=dict)
    noticed: float = 10.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    """How a run went. makespan: seconds until the last shard was done. attempts: of each shard. missing: shards that
    nobody was left to run. useful, lost: work at speed 1, of attempts that came to an end, and of those that did not.
    """

    makespan: float
    attempts: tuple[int, ...]
    missing: tuple[int, ...]
    useful: float
    lost: float


def run(work: Sequence[float], cluster: Cluster) -> Ran:
    """Run shards of so much work each, in their order, on the nodes of a cluster."""
    waiting = deque(range(len(work)))
    idle = deque(range(len(cluster.speeds)))
    attempts = [0] * len(work)
    events: list[tuple[float, int, int, int]] = []  # when, which one of its kind, shard, node: -1 where it is dead
    turn = itertools.count()
    now = makespan = useful = lost = 0.0
    while True:
        while waiting and idle:
            node = idle.popleft()
            speed, death = cluster.speeds[node], cluster.dies.get(node, math.inf)
            if now >= death + cluster.noticed:
                continue
            shard = waiting.popleft()
            attempts[shard] += 1
            end = now + (cluster.start + work[shard]) / speed
            if end <= death:
                useful += cluster.start + work[shard]
                heapq.heappush(events, (end, next(turn), shard, node))
            else:
                lost += max(0.0, death - now) * speed
                heapq.heappush(events, (death + cluster.noticed, next(turn), shard, -1))
        if not events:
            break
        now, _, shard, node = heapq.heappop(events)
        if node < 0:
            waiting.appendleft(shard)
        else:
            makespan = now
            idle.append(node)
    return Ran(
        makespan=math.inf if waiting else makespan,
        attempts=tuple(attempts),
        missing=tuple(waiting),
        useful=useful,
        lost=lost,
    )


def lower_bound(total: float, longest: float, cluster: Cluster) -> float:
    """Seconds that no division of the tests and no order beats, were no node to die.

    The longest test needs a start and itself on the fastest node; all tests need the nodes to be busy to the end, after
    a start each. Nodes too slow to come to any test are left out of that.
    """
    speeds = sorted(cluster.speeds, reverse=True)
    alone = (cluster.start + longest) / speeds[0]
    for count in range(len(speeds), 0, -1):
        shared = (total + count * cluster.start) / math.fsum(speeds[:count])
        if shared * speeds[count - 1] >= cluster.start:
            return max(alone, shared)
    return alone
