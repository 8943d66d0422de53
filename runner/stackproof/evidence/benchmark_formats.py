"""Benchmarks of any writer as the same facts: our own, pytest-benchmark's, and a small format for everybody else.

pytest-benchmark: what `--benchmark-json FILE` writes
(https://pytest-benchmark.readthedocs.io/en/latest/usage.html); with `--benchmark-save-data` every single time is in it,
without it only what was made of them. The small format: `{"kind": "times", "machine": "any name", "date": "…",
"lines": [{"name": "…", "seconds": [0.1, 0.2], "floor": [0.05, 0.05]}]}`, where machine, date and floor may be absent.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackproof.evidence import benchmark, jsonfile
from stackproof.evidence.benchmark import BenchmarkFacts, BenchmarkLine, Told
from stackproof.evidence.machine import UNKNOWN, Machine


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """What a file of times holds. damage: what is wrong with it or with one of its lines, each with its place."""

    facts: BenchmarkFacts | None = None
    damage: tuple[str, ...] = ()


def read(path: Path) -> Measured:
    """Read a file of any of the formats; never raises for what is in it."""
    if not path.is_file():
        return Measured(damage=(f"{path.name} is missing",))
    data = jsonfile.read(path)
    if data is None:
        return Measured(damage=(f"{path.name} holds no JSON object",))
    damage: list[str] = []
    if data.get("kind") == "benchmark":
        facts = benchmark.read(path)
        return Measured(facts=facts, damage=() if facts is not None else (f"{path.name} is damaged",))
    if isinstance(data.get("benchmarks"), list):
        lines = _lines(path.name, "benchmarks", data["benchmarks"], _of_pytest_benchmark, damage)
        commit = jsonfile.table(data, "commit_info")
        facts = BenchmarkFacts(
            lines=lines,
            machine=_machine(jsonfile.table(data, "machine_info")),
            date=jsonfile.text(data, "datetime") or "at no known time",
            commit=jsonfile.text(commit, "id"),
            dirty=commit.get("dirty") is True,
        )
    elif data.get("kind") == "times" and isinstance(data.get("lines"), list):
        machine = jsonfile.text(data, "machine")
        facts = BenchmarkFacts(
            lines=_lines(path.name, "lines", data["lines"], _of_anybody, damage),
            machine=UNKNOWN if machine is None else Machine(processor=machine, cpus=0, system="", python=""),
            date=jsonfile.text(data, "date") or "at no known time",
        )
    else:
        return Measured(damage=(f"{path.name} is no file of benchmarks that is known",))
    return Measured(facts=facts, damage=tuple(damage))


def _lines(file: str, key: str, items: Sequence[object], make: Any, damage: list[str]) -> dict[str, BenchmarkLine]:
    found: dict[str, BenchmarkLine] = {}
    for number, item in enumerate(items):
        place = f"{file}: {key}[{number}]"
        try:
            line: BenchmarkLine = make(item, place)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            damage.append(f"{place} is damaged: {type(error).__name__} {error}")
            continue
        if line.name in found:
            damage.append(f"{place} is a second {line.name!r}; the first counts")
        else:
            found[line.name] = line
    return found


def _of_pytest_benchmark(item: Mapping[str, Any], place: str) -> BenchmarkLine:
    stats = item["stats"]
    times = tuple(_times(stats.get("data") or ()))
    told = None
    if not times:
        told = Told(median=_time(stats["median"]), most=_time(stats["max"]), samples=int(stats["rounds"]))
    return BenchmarkLine(name=str(item["fullname"]), turns=times, floor=(), told=told, place=place)


def _of_anybody(item: Mapping[str, Any], place: str) -> BenchmarkLine:
    return BenchmarkLine(
        name=str(item["name"]),
        turns=tuple(_times(item["seconds"])),
        floor=tuple(_times(item.get("floor") or ())),
        place=place,
    )


def _times(values: Sequence[object]) -> Iterator[float]:
    if not isinstance(values, list | tuple):
        raise TypeError(f"{values!r} is no list of seconds")
    return (_time(value) for value in values)


def _time(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not (0 <= value < math.inf):
        raise ValueError(f"{value!r} are no seconds")
    return float(value)


def _machine(info: Mapping[str, Any]) -> Machine:
    """As `machine.fingerprint` names it, so that files of both writers compare."""
    if not info:
        return UNKNOWN
    cpu = jsonfile.table(info, "cpu")
    say = {key: jsonfile.text(info, key) or "" for key in info}
    processor = jsonfile.text(cpu, "brand_raw") or say.get("processor") or say.get("machine") or UNKNOWN.processor
    system = " ".join(say.get(key, "") for key in ("system", "release", "machine"))
    python = f"{say.get('python_implementation', '')} {say.get('python_version', '')}"
    return Machine(
        processor=" ".join(processor.split()),
        cpus=jsonfile.number(cpu, "count") or 0,
        system=system.strip(),
        python=python.strip(),
    )
