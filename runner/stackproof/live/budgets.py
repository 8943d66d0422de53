"""What a smoke has used of its budget, over the cells and what was asked before them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stackproof import calls_told
from stackproof.evidence import jsonfile
from stackproof.live.order import Limits

_FILE = "budget.json"
_NAMES = ("requests", "tokens", "seconds")


@dataclass(frozen=True, kw_only=True, slots=True)
class Spent:
    """How much of each; limits: of the whole smoke. ended_by: the one that ended it, None while there is some left."""

    limits: Limits
    requests: int = 0
    tokens: int = 0
    seconds: float = 0.0
    ended_by: str | None = None

    def plus(self, *, requests: int = 0, tokens: int = 0, seconds: float = 0.0, ended_by: str | None = None) -> Spent:
        """And so much more."""
        return replace(
            self,
            requests=self.requests + requests,
            tokens=self.tokens + tokens,
            seconds=self.seconds + seconds,
            ended_by=self.ended_by or ended_by,
        )

    def with_cell(self, cell_dir: Path) -> Spent:
        """And what a cell has used, as `budget.json` in its folder says; without one, as many requests as went out."""
        data = jsonfile.read(cell_dir / _FILE)
        if data is None:
            lines = jsonfile.lines(cell_dir / "calls.jsonl")
            return self.plus(requests=sum(bool(call) and "status" in (call or {}) for call in lines))
        used = {name: _first(data.get(name)) for name in _NAMES}
        ended = jsonfile.text(data, "ended_by")
        return self.plus(
            requests=int(used["requests"]), tokens=int(used["tokens"]), seconds=used["seconds"], ended_by=ended
        )

    def exhausted(self) -> Spent:
        """The same, ended where nothing is left of one of them."""
        left = self.left
        gone = [
            name
            for name, rest in zip(_NAMES, (left.max_requests, left.max_tokens, left.max_seconds), strict=True)
            if rest <= 0
        ]
        return replace(self, ended_by=self.ended_by or next(iter(gone), None))

    @property
    def left(self) -> Limits:
        """What may still be used; 0 or less: nothing."""
        return Limits(
            max_requests=self.limits.max_requests - self.requests,
            max_tokens=self.limits.max_tokens - self.tokens,
            max_seconds=round(self.limits.max_seconds - self.seconds, 1),  # somebody reads it, and types it again
        )

    @property
    def words(self) -> str:
        """`12 of 60 requests, 1,204 of 60,000 tokens, 14.2 of 900 s`."""
        return ", ".join(self._of(name) for name in _NAMES)

    @property
    def sentence(self) -> str:
        """That it is used up, and which part of it."""
        return f"the budget of this run is used up: {self._of(self.ended_by or 'requests')}"

    def _of(self, name: str) -> str:
        match name:
            case "tokens":
                return calls_told.of(self.tokens, self.limits.max_tokens, "token")
            case "seconds":
                return calls_told.of_seconds(self.seconds, self.limits.max_seconds)
            case _:
                return calls_told.of(self.requests, self.limits.max_requests, "request")

    def to_json(self) -> dict[str, Any]:
        """As `checks/live.json` has it: used and limit."""
        return {
            "requests": [self.requests, self.limits.max_requests],
            "tokens": [self.tokens, self.limits.max_tokens],
            "seconds": [round(self.seconds, 3), self.limits.max_seconds],
            "ended_by": self.ended_by,
        }


def _first(pair: object) -> float:
    value = pair[0] if isinstance(pair, list) and pair else 0
    return float(value) if type(value) in (int, float) else 0.0


def as_options(left: Limits) -> dict[str, int | float]:
    """The options of a run for what is left."""
    return {
        "max_requests": left.max_requests,
        "max_tokens": left.max_tokens,
        "max_seconds": left.max_seconds,
    }
