"""What a benchmark measured: an observation of one machine, and a ratio to the floor measured beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from stackproof.evidence import jsonfile
from stackproof.evidence.machine import Machine
from stackproof.evidence.statistics import Interval, median, median_interval, nearest_rank

SCHEMA = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """What a file says of times that it does not hold, in seconds."""

    median: float
    most: float
    samples: int


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchmarkLine:
    """One benchmark. `turns` and `floor` are seconds of the measured turn and of its floor, pair by pair.

    told: where a file has numbers in place of the times. place: where in which file it is.
    """

    name: str
    turns: tuple[float, ...]
    floor: tuple[float, ...]
    told: Told | None = None
    place: str = ""

    @property
    def samples(self) -> int:
        """Pairs that were measured."""
        return min(len(self.turns), len(self.floor))

    @property
    def ratio(self) -> Interval | None:
        """Median of turn by floor over the pairs; None when nothing usable was measured."""
        pairs = list(zip(self.turns, self.floor, strict=False))
        if not pairs or any(value <= 0 for pair in pairs for value in pair):
            return None
        return median_interval([turn / floor for turn, floor in pairs])

    def words(self) -> str:
        """`median 12.4 ms, P95 15.0, max 15.2, 20 samples`."""
        if self.told is not None:
            return f"median {_ms(self.told.median)} ms, max {_ms(self.told.most)}, {self.told.samples} samples"
        if not self.turns:
            return "nothing was measured"
        middle, high, most = (_ms(each) for each in (median(self.turns), nearest_rank(self.turns, 95), max(self.turns)))
        return f"median {middle} ms, P95 {high}, max {most}, {self.samples or len(self.turns)} samples"


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchmarkFacts:
    """Everything that was measured in one go. problem: why nothing (more) was, None when all went well."""

    lines: Mapping[str, BenchmarkLine]
    machine: Machine
    date: str
    problem: str | None = None
    commit: str | None = None
    dirty: bool = False
    policy: str | None = None


def to_json(facts: BenchmarkFacts) -> dict[str, Any]:
    """What `checks/benchmark.json` holds: times in seconds, and the numbers made of them for readers."""
    return {
        "schema": SCHEMA,
        "kind": "benchmark",
        "date": facts.date,
        "machine": asdict(facts.machine),
        "problem": facts.problem,
        "commit": facts.commit,
        "dirty": facts.dirty,
        "policy": facts.policy,
        "lines": [_line_json(line) for line in facts.lines.values()],
    }


def read(path: Path) -> BenchmarkFacts | None:
    """Read `checks/benchmark.json`; None when it is missing or is something else. Derived numbers are made anew."""
    data = jsonfile.read(path)
    return None if data is None else of_json(data)


def of_json(data: Mapping[str, Any]) -> BenchmarkFacts | None:
    """What `to_json` has made; None when it is something else."""
    if data.get("schema") != SCHEMA or data.get("kind") != "benchmark":
        return None
    try:
        machine = Machine(**data["machine"])
        lines = lines_of(data)
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    return BenchmarkFacts(
        lines=lines,
        machine=machine,
        date=str(data.get("date")),
        problem=jsonfile.text(data, "problem"),
        commit=jsonfile.text(data, "commit"),
        dirty=data.get("dirty") is True,
        policy=jsonfile.text(data, "policy"),
    )


def lines_of(data: Mapping[str, Any]) -> dict[str, BenchmarkLine]:
    """The benchmarks of a `lines` list, by name; KeyError, TypeError or ValueError when it is something else."""
    lines = [
        BenchmarkLine(name=str(item["name"]), turns=_times(item["turns"]), floor=_times(item["floor"]))
        for item in data["lines"]
    ]
    return {line.name: line for line in lines}


def _line_json(line: BenchmarkLine) -> dict[str, Any]:
    ratio = line.ratio
    return {
        "name": line.name,
        "samples": line.samples,
        "turns": list(line.turns),
        "floor": list(line.floor),
        "median": median(line.turns) if line.turns else None,
        "p95": nearest_rank(line.turns, 95) if line.turns else None,
        "max": max(line.turns, default=None),
        "floor_median": median(line.floor) if line.floor else None,
        "ratio": None if ratio is None else asdict(ratio),
    }


def _times(values: Sequence[Any]) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


def _ms(value: float) -> str:
    return f"{value * 1000:.1f}" if value >= 0.01 else f"{value * 1000:.2f}"
