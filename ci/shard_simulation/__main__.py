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
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from ci.shard_simulation import comparing, durations, page, planning, plot, scenarios, spares
from ci.shard_simulation.figures import Figures

from stackproof.evidence import machine

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
    seeds={10_000: 20, 1_000_000: 5},
    shards=(64, 4096),
    nodes=spares.NODES,
    spare_tests=100_000,
    spare_seeds=10,
    compared=((10_000, 64), (100_000, 1024)),
    compared_seeds=5,
    planned=(10_000, 100_000, 1_000_000),
    parts=(64, 512, 4096),
    rounds=3,
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
    parser.add_argument("--output", type=Path, default=_DOCS, help="the folder for scale.md and scale.svg")
    given = parser.parse_args(argv)
    found = figures(QUICK if given.quick else FULL)
    given.output.mkdir(parents=True, exist_ok=True)
    plot.draw(found, given.output / "scale.svg")
    page.write(found, given.output / "scale.md")
    print(f"{given.output / 'scale.md'} after {found.took:.0f} s, {found.most >> 20} MiB")
    return 0


def figures(extent: Extent) -> Figures:
    """Everything, in turn; says on stderr what it is at."""
    load, began, measured = os.getloadavg()[0], time.monotonic(), durations.read()
    planned = list(planning.plan_all(extent.planned, extent.parts, extent.rounds))
    _say(began, "planning")
    outcomes: list[scenarios.Outcome] = []
    for tests, seeds in extent.seeds.items():
        for seed in range(1, seeds + 1):
            outcomes += scenarios.simulate(measured, tests, extent.shards, seed)
            _say(began, f"{tests:,} tests, seed {seed} of {seeds}")
    outcomes.sort(key=lambda each: (each.tests, each.shards))
    many = list(
        spares.simulate_spares(measured, extent.spare_tests, range(1, extent.spare_seeds + 1), nodes=extent.nodes)
    )
    _say(began, "more shards than nodes")
    compared = [
        each
        for tests, parts in extent.compared
        for seed in range(1, extent.compared_seeds + 1)
        for each in comparing.compare(measured, tests, parts, seed)
    ]
    return Figures(
        measured=measured,
        outcomes=outcomes,
        spares=many,
        compared=compared,
        planned=planned,
        took=time.monotonic() - began,
        most=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        machine=machine.fingerprint().words(),
        versions=f"Python {platform.python_version()}, numpy {np.__version__}",
        date=datetime.now(UTC).date().isoformat(),
        load=load,
    )


def _say(began: float, what: str) -> None:
    print(f"{time.monotonic() - began:6.0f} s  {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
