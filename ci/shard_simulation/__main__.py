"""Runs of very many tests, simulated: `python -m ci.shard_simulation [--quick]`.

Writes docs/scale.md and docs/scale.svg. Takes some minutes; `--quick` takes small suites and few seeds, to see that all
of it works: its figures mean nothing.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
from ci.shard_simulation import comparing, durations, page, planning, scenarios, spares
from ci.shard_simulation.figures import Figures

from stackproof.evidence import machine

_T = TypeVar("_T")
_DOCS = Path(__file__).parents[2] / "docs"


@dataclass(frozen=True, kw_only=True, slots=True)
class Extent:
    """How much is simulated. seeds: how many, by the number of tests. compared: pairs of tests and parts."""

    seeds: dict[int, int]
    shards: tuple[int, ...]
    nodes: int
    spare_tests: int
    spare_seeds: int
    compared: tuple[tuple[int, int], ...]
    compared_seeds: int
    planned: tuple[int, ...]
    parts: tuple[int, ...]
    rounds: int


FULL = Extent(
    seeds={10_000: 20, 1_000_000: 3},
    shards=(64, 4096),
    nodes=spares.NODES,
    spare_tests=50_000,
    spare_seeds=5,
    compared=((10_000, 64), (100_000, 1024)),
    compared_seeds=5,
    planned=(10_000, 100_000, 1_000_000),
    parts=(64, 512, 4096),
    rounds=2,
)
QUICK = Extent(
    seeds={300: 2, 900: 2},
    shards=(4, 16),
    nodes=4,
    spare_tests=400,
    spare_seeds=2,
    compared=((200, 4), (400, 8)),
    compared_seeds=2,
    planned=(1000,),
    parts=(4, 16),
    rounds=1,
)


def main(argv: Sequence[str]) -> int:
    """Simulate, measure, and write page and plot."""
    parser = argparse.ArgumentParser(
        prog="python -m ci.shard_simulation", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes that simulate")
    parser.add_argument("--output", type=Path, default=_DOCS, help="the folder for scale.md and scale.svg")
    given = parser.parse_args(argv)
    found = figures(QUICK if given.quick else FULL, jobs=given.jobs)
    given.output.mkdir(parents=True, exist_ok=True)
    from ci.shard_simulation import plot  # noqa: PLC0415 - what draws takes a second to load, and many only simulate

    plot.draw(found, given.output / "scale.svg")
    page.write(found, given.output / "scale.md")
    print(f"{given.output / 'scale.md'} after {found.took:.0f} s of processor time, {found.most >> 20} MiB")
    return 0


def figures(extent: Extent, *, jobs: int = 1) -> Figures:
    """Everything: planning alone and in turn, then all that is simulated; says on stderr what it is at."""
    load, measured = os.getloadavg()[0], durations.read()
    planned = tuple(planning.plan_all(extent.planned, extent.parts, extent.rounds))
    runs = [
        partial(scenarios.simulate, measured, tests, extent.shards, seed)
        for tests, seeds in extent.seeds.items()
        for seed in range(1, seeds + 1)
    ]
    many = [
        partial(spares.simulate_spares, measured, extent.spare_tests, seed, nodes=extent.nodes)
        for seed in range(1, extent.spare_seeds + 1)
    ]
    beside = [
        partial(comparing.compare, measured, tests, parts, seed)
        for tests, parts in extent.compared
        for seed in range(1, extent.compared_seeds + 1)
    ]
    return Figures(
        measured=measured,
        outcomes=sorted(_done(runs, jobs), key=lambda each: (each.tests, each.shards)),
        spares=_done(many, jobs),
        compared=_done(beside, jobs),
        planned=planned,
        took=sum(os.times()[:4]),
        most=max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) * 1024,
        machine=machine.fingerprint().words(),
        versions=f"Python {platform.python_version()}, numpy {np.__version__}",
        date=datetime.now(UTC).date().isoformat(),
        load=load,
    )


def _done(tasks: Sequence[partial[Iterator[_T]]], jobs: int) -> tuple[_T, ...]:
    if jobs == 1:
        return tuple(each for task in tasks for each in _one(task))
    with ProcessPoolExecutor(max_workers=jobs) as pool:
        return tuple(each for found in pool.map(_one, tasks) for each in found)


def _one(task: partial[Iterator[_T]]) -> list[_T]:
    found = list(task())
    print(*task.func.__name__.split("_"), *task.args[1:], file=sys.stderr, flush=True)
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
