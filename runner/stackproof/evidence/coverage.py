"""`coverage/summary.json` of a run, as `stackproof.measure.combine` writes it: the number, and where it comes from."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackproof.evidence import jsonfile, shards
from stackproof.plaintext import counted

FOLDER = "coverage"
"""Below a cell's folder: what its processes measured. Below a run's: all of it, combined."""
SUMMARY = "summary.json"
SCHEMA = 1
TESTS, STACK = "tests", "stack"
"""Whose processes: those of the tests, with a library in them, or those of a stack beside them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Total:
    """Of all cells together. branches: None where only lines were measured."""

    percent: float
    files: int
    statements: int
    branches: int | None = None

    def __str__(self) -> str:
        """`83.3 % of 24 statements and 6 branches in 3 files`."""
        branches = "" if self.branches is None else f" and {counted(self.branches, 'branch', 'branches')}"
        statements, files = counted(self.statements, "statement"), counted(self.files, "file")
        return f"{self.percent:.1f} % of {statements}{branches} in {files}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """What the tests or the stack of one cell gave. who: TESTS or STACK.

    processes: that wrote what they measured. lost: that ended before they could. without: why others could not be
    measured. lines: that ran, of what is measured. beside: whether the other of the two has processes of its own.
    """

    cell: str
    who: str
    processes: int
    lost: int
    lines: int
    without: Sequence[str]
    beside: bool

    def gaps(self) -> Iterator[str]:
        """What of it is not in the number, a line each."""
        if not self.processes:
            yield f"{self.cell}: its {self.who} gave none: {self._why()}"
            return
        # Beside a stack of their own, tests need not run a line of what is tested.
        if not self.lines and (self.who == STACK or not self.beside):
            many = _processes(self.processes)
            yield f"{self.cell}: its {self.who} gave none: no line of what is measured ran in {many}"
        if self.lost:
            yield f"{self.cell}: {_processes(self.lost)} of its {self.who} ended before anything was written"
        for why in self.without:
            yield f"{self.cell}: a process of its {self.who} was not measured: {why}"

    def _why(self) -> str:
        if self.lost:
            return f"{_processes(self.lost)} ended before anything was written"
        return self.without[0] if self.without else "no Python process of it was measured"


@dataclass(frozen=True, kw_only=True, slots=True)
class Coverage:
    """Of a run. total: None where nothing was measured."""

    total: Total | None
    parts: Sequence[Part]

    @property
    def gaps(self) -> tuple[str, ...]:
        """What is not in the number, a line each."""
        return tuple(line for part in self.parts for line in part.gaps())

    @property
    def origin(self) -> str:
        """`1 process of tests and 3 of stacks in 2 cells`: those that ran what is measured."""
        giving = [part for part in self.parts if part.lines]
        if not giving:
            return "no process: none ran a line of it"
        words: list[str] = []
        for who, of in ((TESTS, "tests"), (STACK, "stacks")):
            if number := sum(part.processes for part in giving if part.who == who):
                words.append(f"{number if words else _processes(number)} of {of}")
        return f"{' and '.join(words)} in {counted(len({shards.whole_of(part.cell) for part in giving}), 'cell')}"


def read(run_dir: Path) -> Coverage | None:
    """What a run's summary says; None without one that can be read."""
    data = jsonfile.read(run_dir / FOLDER / SUMMARY)
    if data is None or data.get("schema") != SCHEMA:
        return None
    parts = []
    for cell, kinds in sorted(jsonfile.table(data, "cells").items()):
        if isinstance(kinds, dict):
            parts += [_part(cell, who, jsonfile.table(kinds, who), len(kinds) > 1) for who in sorted(kinds)]
    return Coverage(total=_total(jsonfile.table(data, "total")), parts=tuple(parts))


def _part(cell: str, who: str, facts: dict[str, Any], beside: bool) -> Part:
    return Part(
        cell=cell,
        who=who,
        processes=jsonfile.number(facts, "processes") or 0,
        lost=jsonfile.number(facts, "lost") or 0,
        lines=jsonfile.number(facts, "lines") or 0,
        without=jsonfile.strings(facts, "without"),
        beside=beside,
    )


def _processes(number: int) -> str:
    return counted(number, "process", "processes")


def _total(facts: dict[str, Any]) -> Total | None:
    percent = facts.get("percent")
    if isinstance(percent, bool) or not isinstance(percent, int | float) or not math.isfinite(percent):
        return None
    return Total(
        percent=float(percent),
        files=jsonfile.number(facts, "files") or 0,
        statements=jsonfile.number(facts, "num_statements") or 0,
        branches=jsonfile.number(facts, "num_branches") if facts.get("branch") is True else None,
    )
