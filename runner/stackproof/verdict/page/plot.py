"""Where things lie in the plot of a benchmark; the template draws them. Lengths are in units of the picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from stackproof.evidence.benchmark import BenchmarkLine
from stackproof.evidence.statistics import median, nearest_rank

WIDTH, LEFT, RIGHT = 720.0, 64.0, 704.0
_DOTS = 200  # pairs that are drawn
_LARGEST = 1e9


def times(line: BenchmarkLine) -> dict[str, Any] | None:
    """Turns and floors as two rows of dots in milliseconds, each pair joined; their medians and the turns' P95.

    None where there are none, or some that no picture can hold.
    """
    turns, floor = ([value * 1000 for value in values[:_DOTS]] for values in (line.turns, line.floor))
    if not turns or not floor or not _can_be_drawn([*turns, *floor]):
        return None
    scale = _Scale([*turns, *floor])
    return {
        "pairs": [{"floor": scale.at(low), "turn": scale.at(high)} for low, high in zip(floor, turns, strict=False)],
        "floor_median": scale.at(median(floor)),
        "turn_median": scale.at(median(turns)),
        "turn_p95": scale.at(nearest_rank(turns, 95)),
        "ticks": scale.ticks(),
    }


def ratios(line: BenchmarkLine, gate: float | None) -> dict[str, Any] | None:
    """Turn by floor of each pair, the median with its interval, and the gate; None where there is no interval."""
    interval = line.ratio
    if interval is None or interval.low is None or interval.high is None:
        return None
    values = [turn / floor for turn, floor in zip(line.turns, line.floor, strict=False)][:_DOTS]
    if not _can_be_drawn([*values, interval.low, interval.high]):
        return None
    scale = _Scale([*values, interval.low, interval.high, 1.0, *([gate] if gate is not None else [])])
    return {
        "dots": [scale.at(value) for value in values],
        "median": scale.at(interval.estimate),
        "low": scale.at(interval.low),
        "high": scale.at(interval.high),
        "one": scale.at(1.0),
        "gate": None if gate is None else scale.at(gate),
        "ticks": scale.ticks(),
    }


def _can_be_drawn(values: Sequence[float]) -> bool:
    return all(math.isfinite(value) and abs(value) < _LARGEST for value in values)


class _Scale:
    """From values to places between the margins, with a little air on both sides."""

    def __init__(self, values: Sequence[float]) -> None:
        low, high = min(values), max(values)
        air = (high - low) * 0.06 or abs(high) * 0.06 or 1.0
        self._low, self._high = low - air, high + air

    def at(self, value: float) -> float:
        return round(LEFT + (value - self._low) / (self._high - self._low) * (RIGHT - LEFT), 1)

    def ticks(self) -> list[dict[str, Any]]:
        """About five round numbers."""
        rough = (self._high - self._low) / 5
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
        digits = max(0, -math.floor(math.log10(step)))
        first, last = math.ceil(self._low / step), math.floor(self._high / step)
        return [{"x": self.at(n * step), "text": f"{n * step:.{digits}f}"} for n in range(first, last + 1)]
