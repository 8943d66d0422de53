"""What a cell's real calls have spent, written down when everything that could call has ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stackproof.evidence import jsonfile
from stackproof.options import RunOptions
from stackproof.recorder.budget import FACTS, Budget, Limits
from stackproof.recorder.ledger import Ledger


def of_cell(cell_dir: Path, options: RunOptions) -> Budget:
    """The account of a cell, which its processes share."""
    limits = Limits(requests=options.max_requests, tokens=options.max_tokens, seconds=options.max_seconds)
    return Budget(limits, Ledger(str(cell_dir.absolute())))


def write(cell_dir: Path, options: RunOptions) -> dict[str, Any]:
    """Leave `budget.json`, with what was spent after the tests; the facts in it."""
    spent = of_cell(cell_dir, options)
    spent.stop()
    facts = spent.facts()
    jsonfile.write(cell_dir / FACTS, facts)
    return facts
