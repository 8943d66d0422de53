"""What a cell has left in its folder, as its judge takes it: that of this machine, or one that came from another."""

from __future__ import annotations

from pathlib import Path

from stackproof.evidence import jsonfile, junit, testlog
from stackproof.options import RunOptions
from stackproof.plan import Cell
from stackproof.recorder import budget
from stackproof.run.judge import CellFacts
from stackproof.shards import left


def read(cell_dir: Path, cell: Cell, options: RunOptions) -> CellFacts:
    """The facts about `cell`, which ran with `options`; what is missing or damaged is absent from them."""
    log = testlog.read(cell_dir / "tests.jsonl")
    return CellFacts(
        outcome=jsonfile.read(cell_dir / "outcome.json"),
        log=log,
        counts=log.counts if log.present else junit.read(cell_dir / "junit.xml").counts,
        misses=[miss for miss in jsonfile.lines(cell_dir / "misses.jsonl") if miss],
        strict=options.strict,
        budget=jsonfile.read(cell_dir / budget.FACTS),
        collect_only=options.collect_only or not options.tests,
        runner="pytest" if cell.suite.runner is None else cell.suite.runner.name,
        shard=cell.shard,
        divided=None if cell.shard is None else left.read(cell_dir),
    )
