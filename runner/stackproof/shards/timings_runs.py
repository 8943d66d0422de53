"""Times of tests from what runs leave behind."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from stackproof.evidence import jsonfile, testlog
from stackproof.evidence.testlog import TestLog
from stackproof.plaintext import counted
from stackproof.shards.timings_table import CellKey, Gathered, is_time

_RESULT, _TESTS = "result.json", "tests.jsonl"
_SESSION = '"session": '


def gather(folder: Path, into: Gathered) -> bool:
    """Take in every cell below `folder`; whether there was any."""
    found = False
    for cell_dir in _cells(folder):
        found = True
        result = jsonfile.read(cell_dir / _RESULT)
        cell = {} if result is None else jsonfile.table(result, "cell")
        if result is None or (key := _key(cell)) is None:
            into.problems.append(f"{cell_dir / _RESULT}: it is damaged or was written by another version")
            continue
        log = testlog.read(cell_dir / _TESTS)
        if log.damaged:
            where = f"{cell_dir / _TESTS}: damaged from line {log.damaged_at} on"
            into.problems.append(f"{where} ({counted(log.damaged, 'line')})")
        seconds = dict(_seconds(log, _session(cell_dir / _TESTS)))
        for nodeid, each in seconds.items():
            # One that failed may have ended too soon, or waited for nothing.
            if not log.tests[nodeid].outcome.bad:
                into.test(key, nodeid, each)
        if (start := _start(result, sum(seconds.values()), cell_dir)) is not None:
            into.start(key, start)
    return found


def _cells(folder: Path) -> Iterator[Path]:
    for base, folders, names in os.walk(folder):
        folders.sort()
        if _RESULT in names and _TESTS in names:
            folders.clear()  # what a cell's own folder holds is no other cell
            yield Path(base)


def _key(cell: Mapping[str, Any]) -> CellKey | None:
    suite, setup = jsonfile.text(cell, "suite"), jsonfile.text(cell, "setup")
    stack, mode = jsonfile.text(cell, "stack"), jsonfile.text(cell, "mode")
    if suite is None or setup is None or stack is None or mode is None:
        return None
    return CellKey(suite=suite, setup=setup, stack=f"{mode}:{stack}")


def _session(path: Path) -> dict[str, float]:
    """Seconds that tests spent on fixtures of the session: whoever comes first in a shard does."""
    found: dict[str, float] = {}
    for block in jsonfile.blocks(path):
        for line in block.splitlines() if _SESSION in block else ():
            event = jsonfile.parsed(line) if _SESSION in line else None
            if event is not None and isinstance(spent := event.get("session"), float):
                found[str(event.get("nodeid"))] = spent
    return found


def _seconds(log: TestLog, session: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    for nodeid, row in testlog.Entries.of(log.tests).rows.items():
        took = row.seconds if isinstance(row, testlog.TestEntry) else row
        if took is not None and is_time(took):
            yield nodeid, max(0.0, took - session.get(nodeid, 0.0))


def _start(result: Mapping[str, Any], tests: float, cell_dir: Path) -> float | None:
    """What a cell took beside its `tests`; None where that cannot be said."""
    order = jsonfile.table(jsonfile.read(cell_dir / "cell.json") or {}, "options")
    if result.get("exit_code") not in (0, 1) or order.get("workers") is not None:
        return None
    began, ended = _moment(result, "started"), _moment(result, "stopped")
    if began is None or ended is None:
        return None
    return max(0.0, (ended - began).total_seconds() - tests)


def _moment(result: Mapping[str, Any], name: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(jsonfile.text(result, name) or "")
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None  # one without is no distance from one that has it
