"""A shard of a cell before its tests begin and after they ended: what the division needs, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from stackproof.options import RunOptions
from stackproof.plan import Cell, Plan
from stackproof.shards import left, order, timings


def prepare(cell_dir: Path, plan: Plan, cell: Cell) -> tuple[str, ...]:
    """Write down for pytest's plugin how to divide; one sentence each on times that could not be read.

    Nothing is written for a cell that is not divided. UsageError for times that are not there.
    """
    if cell.shard is None:
        return ()
    known = timings.read(plan.options.timings, project=plan.project)
    order.write(
        cell_dir,
        order.ShardOrder(
            shard=cell.shard,
            whole=cell.whole_id,
            together=plan.together(cell),
            seconds=known.tests(cell.suite.name, cell.setup.name, f"{cell.mode}:{cell.stack.name}"),
            rows=known.rows,
        ),
    )
    return known.problems


def options(plan: Plan, cell: Cell) -> RunOptions:
    """The options as the process of one cell has them, whichever shards the others of its plan are.

    What `prepare` has read is not read again: a container may not see it.
    """
    return replace(plan.options, shard=None if cell.shard is None else str(cell.shard), timings=())


def lines(cell_dir: Path) -> Iterator[str]:
    """What is said of a shard once its tests are known."""
    facts = left.read(cell_dir)
    if facts is not None:
        yield facts.words()
        yield from facts.notes
