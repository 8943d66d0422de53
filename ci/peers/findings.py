"""What one comparison found: the data that the page is written from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Self

from .verdicts import Cell


@dataclass(frozen=True, kw_only=True, slots=True)
class Cost:
    """A replayed call as a ratio to the same call over an in-memory transport, and what opening takes in such calls."""

    ratio: float
    opening: float

    @classmethod
    def of(cls, told: Sequence[Mapping[str, Any]]) -> Self:
        """From what a worker said, pass by pass."""
        pairs = [pair for one in told for pair in one["pairs"]]
        floor = median(pair[1] for pair in pairs)
        return cls(
            ratio=median(pair[0] for pair in pairs) / floor,
            opening=median(one["opening"] for one in told) / floor,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Findings:
    """`cells` by tool, client and case; `delays` in milliseconds by client and tool; `costs` by count and tool."""

    cells: Mapping[tuple[str, str, str], Cell]
    delays: Mapping[str, Mapping[str, float | None]]
    costs: Mapping[int, Mapping[str, Cost]]
    rounds: int
    chunks: int
