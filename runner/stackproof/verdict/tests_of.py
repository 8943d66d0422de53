"""The tests of a cell, from both its witnesses."""

from __future__ import annotations

from stackproof.evidence.read import CellFacts
from stackproof.evidence.witnesses import NO_TESTS, Facts, TestFact, Tests, join

__all__ = ["NO_TESTS", "Facts", "TestFact", "Tests", "tests_of"]


def tests_of(cell: CellFacts) -> Tests:
    """Every test of either witness once; those of a cell that was put together were joined part by part."""
    return join(cell.report, cell.log) if cell.joined is None else cell.joined
