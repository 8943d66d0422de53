"""Measured durations of tests, and suites of any size that are drawn from them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FILE = Path(__file__).parent / "durations.json"
Seconds = NDArray[np.float64]
_TESTS_A_FILE = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """Tests that were measured in one way. what: how, in words. seconds: of each test, ascending."""

    name: str
    what: str
    seconds: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What `measure` found. starts: seconds that runs took beside their tests, ascending. machine: where, in words."""

    kinds: tuple[Kind, ...]
    starts: tuple[float, ...]
    machine: str

    @property
    def start(self) -> float:
        """The median start."""
        return self.starts[len(self.starts) // 2]

    @cached_property
    def pool(self) -> Seconds:
        """All durations."""
        return np.array([one for kind in self.kinds for one in kind.seconds])


def read(path: Path = FILE) -> Measured:
    """The durations that lie beside this module."""
    content = json.loads(path.read_text(encoding="utf-8"))
    kinds = (
        Kind(name=name, what=kind["what"], seconds=tuple(kind["seconds"])) for name, kind in content["kinds"].items()
    )
    return Measured(kinds=tuple(kinds), starts=tuple(content["starts"]), machine=content["machine"])


def write(measured: Measured, path: Path = FILE) -> None:
    """Write them as `read` reads them, a line for each kind."""
    kinds = {kind.name: {"what": kind.what, "seconds": kind.seconds} for kind in measured.kinds}
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(kind)}" for name, kind in kinds.items())
    head = f'"schema": 1,\n"machine": {json.dumps(measured.machine)},\n"starts": {json.dumps(measured.starts)}'
    path.write_text(f'{{{head},\n"kinds": {{\n{lines}\n}}}}\n', encoding="utf-8")


def drawn(measured: Measured, count: int, chance: np.random.Generator) -> Seconds:
    """A suite of so many tests: each takes as long as one of those that were measured."""
    return chance.choice(measured.pool, size=count)


def names(count: int) -> list[str]:
    """Node ids of such a suite, in the order in which pytest would collect them."""
    return [f"tests/test_{number // _TESTS_A_FILE:05}.py::test_{number:07}" for number in range(count)]


def files(tests: list[str]) -> dict[str, str]:
    """The file of each test."""
    return {test: test.partition("::")[0] for test in tests}
