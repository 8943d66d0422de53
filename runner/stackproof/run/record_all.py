"""One command for all that a run has missed, where each miss names only that for its own test."""

from __future__ import annotations

from dataclasses import replace

from stackproof.options import RunOptions, Source
from stackproof.plan import Cell, again
from stackproof.recorder.mode import Mode
from stackproof.run.judge import CellFacts

# Others say themselves what else has to change first.
_RECORDABLE = frozenset({"nothing-recorded", "no-match"})


def can(facts: CellFacts, cell: Cell) -> bool:
    """Whether there are several misses, and recording is what all of them need."""
    kinds = [miss.get("kind") for miss in facts.misses]
    return cell.inference_mode is Mode.REPLAY and len(kinds) > 1 and _RECORDABLE.issuperset(kinds)


def command(cell: Cell, options: RunOptions) -> str:
    """The command line that runs this cell again and records what is missing."""
    sources = {**options.sources, "inference_mode": Source.COMMAND_LINE}
    return again(cell, replace(options, inference_mode=Mode.RECORD_IF_MISSING.value, sources=sources))
