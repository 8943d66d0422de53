"""What happens to a run: each scenario is one thing that is not as it should be, the last one all of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from ci.shard_simulation import cluster, durations
from ci.shard_simulation.durations import Measured, Seconds

from stackproof.shards.partition import divide


@dataclass(frozen=True, kw_only=True, slots=True)
class Timings:
    """What is known of durations. noise: sigma of the logarithm of a known time by the true one. unknown: a share."""

    name: str
    noise: float = 0.0
    unknown: float = 0.0


EXACT = Timings(name="exact")
STALE = Timings(name="stale", noise=0.3, unknown=0.1)
NONE = Timings(name="none", unknown=1.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """nodes: by the number of shards. slow: the share of nodes that are `slow_by` times slower. dying: the share of
    nodes that die at some moment of the run. again: the share of tests that fail once and are run again at once.
    """

    name: str
    words: str
    timings: Timings = EXACT
    nodes: float = 1.0
    slow: float = 0.0
    slow_by: float = 3.0
    dying: float = 0.0
    again: float = 0.0


SCENARIOS = (
    Scenario(name="exact", words="as planned: every time is known, a node for each shard"),
    Scenario(name="stale", words="stale times: 30 % noise, one test in ten unknown", timings=STALE),
    Scenario(name="none", words="no times at all", timings=NONE),
    Scenario(name="retries", words="one test in a hundred is run again", again=0.01),
    Scenario(name="fewer", words="a quarter as many nodes as shards", nodes=0.25),
    Scenario(name="slow", words="one node in ten is three times slower", slow=0.1),
    Scenario(name="dying", words="one node in fifty dies", dying=0.02),
    Scenario(
        name="all",
        words="all of these at once: stale times, retries, a quarter of the nodes, slow and dying ones",
        timings=STALE,
        nodes=0.25,
        slow=0.1,
        dying=0.02,
        again=0.01,
    ),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """One run. tests, shards, nodes: numbers. makespan, bound: seconds. total: of all tests, with those run again.

    again: shards that were run more than once. lost: the share of all work that was done for nothing.
    """

    scenario: str
    tests: int
    shards: int
    nodes: int
    seed: int
    makespan: float
    bound: float
    total: float
    again: int
    lost: float

    @property
    def ratio(self) -> float:
        """How much longer it took than anything could."""
        return self.makespan / self.bound


@dataclass(frozen=True, kw_only=True, slots=True)
class Suite:
    """Tests by name, what each takes, and what is known of each."""

    names: list[str]
    seconds: Seconds

    def known(self, timings: Timings, chance: np.random.Generator) -> dict[str, float]:
        """A file of times as earlier runs would have left it."""
        noisy = self.seconds * np.exp(chance.normal(0.0, timings.noise, len(self.names)))
        has_time = chance.random(len(self.names)) >= timings.unknown
        return {name: value for name, value, has in zip(self.names, noisy.tolist(), has_time, strict=True) if has}


def simulate(
    measured: Measured, tests: int, shards: Sequence[int], seed: int, scenarios: Sequence[Scenario] = SCENARIOS
) -> Iterator[Outcome]:
    """Every scenario with each number of shards, over one suite that the seed makes."""
    chance = np.random.default_rng([seed, tests])
    suite = Suite(names=durations.names(tests), seconds=durations.drawn(measured, tests, chance))
    for timings in dict.fromkeys(scenario.timings for scenario in scenarios):
        known = suite.known(timings, chance)
        for total in shards:
            parts = np.frombuffer(divide(suite.names, total, seconds=known).parts, dtype=np.uint32)
            for scenario in scenarios:
                if scenario.timings is timings:
                    yield _one(scenario, suite, parts, shards=total, start=measured.start, seed=seed)


def _one(scenario: Scenario, suite: Suite, parts: np.ndarray, *, shards: int, start: float, seed: int) -> Outcome:
    # Each scenario has chances of its own, so that one more of them changes no other.
    chance = np.random.default_rng([seed, len(suite.names), shards, *scenario.name.encode()])
    takes = suite.seconds * (1 + (chance.random(len(suite.names)) < scenario.again))
    work = np.bincount(parts, weights=takes, minlength=shards)
    nodes = max(1, math.ceil(shards * scenario.nodes))
    speeds = np.where(_some(nodes, scenario.slow, chance), 1 / scenario.slow_by, 1.0)
    living = cluster.Cluster(speeds=speeds.tolist(), start=start)
    total, longest = float(takes.sum()), float(takes.max())
    bound = cluster.lower_bound(total, longest, living)
    dies = {int(node): float(chance.random() * bound) for node in np.flatnonzero(_some(nodes, scenario.dying, chance))}
    ran = cluster.run(work.tolist(), cluster.Cluster(speeds=living.speeds, start=start, dies=dies))
    return Outcome(
        scenario=scenario.name,
        tests=len(suite.names),
        shards=shards,
        nodes=nodes,
        seed=seed,
        makespan=ran.makespan,
        bound=bound,
        total=total,
        again=sum(attempts > 1 for attempts in ran.attempts),
        lost=ran.lost / (ran.useful + ran.lost),
    )


def _some(count: int, share: float, chance: np.random.Generator) -> np.ndarray:
    """Which of so many: this share of them, at least one if it is more than none, but never all."""
    chosen = np.zeros(count, dtype=bool)
    if share and count > 1:
        chosen[chance.permutation(count)[: min(count - 1, max(1, round(count * share)))]] = True
    return chosen
