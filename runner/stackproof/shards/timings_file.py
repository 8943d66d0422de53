"""The file of times that a project keeps: one test a line, sorted, rounded, so that its changes can be read.

`{"schema": 1, "kind": "timings", "cells": {suite: {setup: {stack: {"start": s, "tests": {file: {rest: s}}}}}}}`, where
a node id is cut at its first `::`, and `rows` beside `cells` holds seconds of JUnit reports: {class name: {name: s}}.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from stackproof.evidence import jsonfile
from stackproof.evidence.junit_cases import PARTS
from stackproof.shards.timings_table import CellKey, CellTimes, Gathered, is_time

SCHEMA = 1
KIND = "timings"
_CUT = "::"


def gather(path: Path, into: Gathered) -> None:
    """Take in what `text` wrote; one sentence in `problems` for anything else."""
    data = jsonfile.read(path)
    if data is None or data.get("kind") != KIND or data.get("schema") != SCHEMA:
        into.problems.append(f"{path}: it is no file of `stackproof timings`, or one of another version")
        return
    for key, cell in _cells(data):
        if (start := _seconds(cell.get("start"))) is not None:
            into.start(key, start)
        for nodeid, seconds in _cells_tests(jsonfile.table(cell, "tests"), _CUT):
            into.test(key, nodeid, seconds)
    for name, seconds in _cells_tests(jsonfile.table(data, "rows"), PARTS):
        into.row(name, seconds)


def text(cells: Mapping[CellKey, CellTimes], rows: Mapping[str, float]) -> str:
    """The file's content."""
    tree: dict[str, Any] = {}
    for key, cell in cells.items():
        content = {} if cell.start is None else {"start": rounded(cell.start)}
        place = tree.setdefault(key.suite, {}).setdefault(key.setup, {})
        place[key.stack] = {**content, "tests": _nested(cell.tests, _CUT)}
    data: dict[str, Any] = {"schema": SCHEMA, "kind": KIND, "cells": tree}
    if rows:
        data["rows"] = _nested(rows, PARTS)
    return json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def rounded(seconds: float) -> float:
    """Two digits that count, at least a millisecond: what differs from run to run shall not differ in the file."""
    return max(0.001, float(f"{seconds:.2g}"))


def _nested(seconds: Mapping[str, float], cut: str) -> dict[str, dict[str, float]]:
    tree: dict[str, dict[str, float]] = {}
    for name, value in seconds.items():
        first, _, rest = name.partition(cut)
        tree.setdefault(first, {})[rest] = rounded(value)
    return tree


def _cells(data: Mapping[str, Any]) -> Iterator[tuple[CellKey, Mapping[str, Any]]]:
    suites = jsonfile.table(data, "cells")
    for suite in suites:
        setups = jsonfile.table(suites, suite)
        for setup in setups:
            stacks = jsonfile.table(setups, setup)
            for stack in stacks:
                yield CellKey(suite=suite, setup=setup, stack=stack), jsonfile.table(stacks, stack)


def _cells_tests(tree: Mapping[str, Any], cut: str) -> Iterator[tuple[str, float]]:
    for first in tree:
        for rest, value in jsonfile.table(tree, first).items():
            if (seconds := _seconds(value)) is not None:
                yield f"{first}{cut}{rest}" if rest else first, seconds


def _seconds(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if is_time(value) else None
