"""The plan of a lane in shards, as people and machines read it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stackproof.lanes import ci, loads
from stackproof.lanes.loads import CellCost
from stackproof.lanes.packing import Piece
from stackproof.lanes.sharding import LanePlan
from stackproof.plaintext import counted
from stackproof.shards.records import Shard

_SHOWN = 12  # digits of a digest


def lines(plan: LanePlan) -> Iterator[str]:
    """For each shard its pieces with what they are expected to take, then all together, and what was not known."""
    packed = plan.packed
    rows = [(index, [_row(plan, piece) for piece in job]) for index, job in enumerate(packed.jobs, 1)]
    width = max((len(name) for _, job in rows for name, _, _ in job), default=0)
    counts = max((len(tests) for _, job in rows for _, tests, _ in job), default=0)
    yield f"lane {plan.lane.name} in {counted(plan.total, 'shard')}: {_seconds(packed.makespan)} expected"
    for index, job in rows:
        yield f"shard {index}/{plan.total}  {_seconds(round(plan.seconds(index) * 1000))}"
        if not job:
            yield "  nothing: there are fewer pieces than shards"
        for name, tests, takes in job:
            yield f"  {name:<{width}}  {tests:>{counts}}  {takes:>9}"
    yield (
        f"the longest takes {_seconds(packed.makespan)}, no plan less than {_seconds(packed.bound)}; "
        f"all of them {_seconds(packed.total)}"
    )
    yield from _unknown(plan)
    yield from (f"not divided: {_title(plan, cost)}: {why}" for cost in plan.costs.values() if (why := cost.undivided))
    times = f", times from {', '.join(plan.timings)}" if plan.timings else ", without times of earlier runs"
    yield f"plan {plan.digest[:_SHOWN]}{times}"


def facts(plan: LanePlan, *, tests: bool, again: str) -> dict[str, Any]:
    """The plan as plain data, with stable keys. tests: with the node ids of each piece. again: as of `lane run`."""
    packed = plan.packed
    return {
        "schema": 1,
        "lane": plan.lane.name,
        "shards": plan.total,
        "plan_digest": plan.digest,
        "timings": list(plan.timings),
        "expected_seconds": packed.makespan / 1000,
        "bound_seconds": packed.bound / 1000,
        "total_seconds": packed.total / 1000,
        "unknown": {
            "tests": sum(len(cost.tests or ()) - cost.known for cost in plan.costs.values()),
            "cells_without_tests": [cost.id for cost in plan.costs.values() if cost.tests is None],
            "starts": [cost.id for cost in plan.costs.values() if not cost.started],
            "checks": [check.value for check in plan.lane.checks],
        },
        "undivided": {cost.id: cost.undivided for cost in plan.costs.values() if cost.undivided},
        "jobs": [
            {
                "shard": f"{index}/{plan.total}",
                "seconds": plan.seconds(index),
                "command": command(plan, str(Shard(index=index, total=plan.total)), again),
                "pieces": [_piece(plan, piece, tests=tests) for piece in job],
            }
            for index, job in enumerate(packed.jobs, 1)
        ],
    }


def as_github_matrix(plan: LanePlan, again: str) -> str:
    """One line for `strategy.matrix`: a job for each shard that has something to do."""
    shards = [Shard(index=index, total=plan.total) for index, job in enumerate(plan.packed.jobs, 1) if job]
    return ci.matrix(
        {
            **ci.entry(plan.lane, shard),
            "seconds": plan.seconds(shard.index),
            "command": command(plan, str(shard), again),
        }
        for shard in shards
    )


def command(plan: LanePlan, shard: str, again: str) -> str:
    """What runs one shard."""
    return " ".join([again, plan.lane.name, "--shard", shard, *plan.words])


def _row(plan: LanePlan, piece: Piece) -> tuple[str, str, str]:
    cost = plan.costs.get(piece.name)
    if cost is None:
        return piece.name, "", _seconds(piece.takes)
    part = "" if piece.of == 1 else f" · part {piece.part}/{piece.of}"
    known = cost.tests is not None
    number = counted(len(cost.of(piece.part, piece.of)), "test") if known else "tests unknown"
    return f"{_title(plan, cost)}{part}", number, _seconds(piece.takes)


def _piece(plan: LanePlan, piece: Piece, *, tests: bool) -> dict[str, Any]:
    cost = plan.costs.get(piece.name)
    if cost is None:
        return {"check": piece.name, "seconds": piece.takes / 1000}
    own = cost.of(piece.part, piece.of)
    return {
        "cell": piece.name,
        "part": piece.part,
        "of": piece.of,
        "seconds": piece.takes / 1000,
        "start_seconds": cost.start,
        "tests": None if cost.tests is None else len(own),
        **({"nodeids": own} if tests else {}),
    }


def _unknown(plan: LanePlan) -> Iterator[str]:
    costs = plan.costs.values()
    of = sum(len(cost.tests or ()) for cost in costs)
    if without := of - sum(cost.known for cost in costs):
        yield f"not known: {without:,} of {counted(of, 'test')}, which count as the median of their cell or 1 s"
    if nothing := [cost for cost in costs if cost.tests is None]:
        names = ", ".join(_title(plan, cost) for cost in nothing)
        yield f"not known: the tests of {names}, which count as {loads.TESTS:g} s"
    if starts := [cost for cost in costs if not cost.started]:
        contained = f"in containers as {loads.START_IN_CONTAINERS:g} s"
        yield f"not known: {counted(len(starts), 'start')} of a cell, which count as {loads.START:g} s, {contained}"
    if plan.lane.checks:
        yield f"not known: checks, which count as {loads.CHECK:g} s each"


def _title(plan: LanePlan, cost: CellCost) -> str:
    return next(each.cell.title for each in plan.lane.cells if each.cell.id == cost.id)


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:,.1f} s"
