"""All that `stackproof benchmark --full` found: one figure for each line of docs/benchmarks.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from stackproof.evidence import jsonfile
from stackproof.evidence.machine import Machine
from stackproof.evidence.statistics import Interval

SCHEMA = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """One thing that was measured.

    value: in `unit`; None when it was not measured, and then `why` says the reason. aim: the most that it should be;
    None for an observation. unit: `× floor`, `ms`, `%`, `µs`, `MiB`, `bytes`. how: how it is measured, in one phrase.
    more: further numbers of the same measurement, as words.
    """

    group: str
    what: str
    unit: str
    how: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    aim: float | None = None
    more: str = ""
    why: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the aim is met, or missed, for all of the interval; None where that is open, or there is no aim."""
        if self.aim is None or self.value is None:
            return None
        if (self.value if self.high is None else self.high) <= self.aim:
            return True
        return False if (self.value if self.low is None else self.low) > self.aim else None

    def found(self, interval: Interval, more: str = "") -> Figure:
        """The same figure with what was measured."""
        return replace(self, value=interval.estimate, low=interval.low, high=interval.high, more=more)


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """The figures of one run, in their order, and where and when they were measured.

    curves: recorder → number of recordings → a replayed call in × floor, for the plot.
    """

    figures: tuple[Figure, ...]
    machine: Machine
    date: str
    load: float
    versions: Mapping[str, str] = field(default_factory=dict)
    curves: Mapping[str, Mapping[int, float]] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        """Whether everything could be measured."""
        return all(figure.value is not None for figure in self.figures)


def to_json(table: Table) -> dict[str, Any]:
    """What `checks/benchmark-full.json` holds."""
    return {
        "schema": SCHEMA,
        "kind": "benchmark-full",
        "date": table.date,
        "load": table.load,
        "machine": asdict(table.machine),
        "versions": dict(table.versions),
        "figures": [{**asdict(figure), "met": figure.met} for figure in table.figures],
        "curves": {name: {str(at): ratio for at, ratio in curve.items()} for name, curve in table.curves.items()},
    }


def read(path: Path) -> Table | None:
    """Read `checks/benchmark-full.json`; None when it is missing or is something else. `met` is found anew."""
    data = jsonfile.read(path)
    if data is None or data.get("schema") != SCHEMA or data.get("kind") != "benchmark-full":
        return None
    try:
        return Table(
            figures=_figures(data["figures"]),
            machine=Machine(**data["machine"]),
            date=str(data["date"]),
            load=float(data["load"]),
            versions=dict(data["versions"]),
            curves={
                name: {int(at): float(ratio) for at, ratio in curve.items()} for name, curve in data["curves"].items()
            },
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _figures(items: Sequence[Mapping[str, Any]]) -> tuple[Figure, ...]:
    return tuple(Figure(**{key: value for key, value in item.items() if key != "met"}) for item in items)
