"""The tests: those that failed in full, those that need a word by their reason, all others packed for the filter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from stackproof.evidence import steps as step_times
from stackproof.evidence.outcomes import Outcome
from stackproof.plaintext import duration
from stackproof.verdict.test_rows import Failure, TestRow

_IN_FULL = 100
_TAIL = 8_000  # characters of a failure: its end says what went wrong
_MISS = 6_000
_NAMES = 50
_SLOWEST = 12
_CODES = {
    Outcome.PASSED: "p",
    Outcome.FAILED: "f",
    Outcome.ERROR: "e",
    Outcome.SKIPPED: "s",
    Outcome.XFAILED: "x",
    Outcome.XPASSED: "u",
    Outcome.FLAKY: "k",
}


def failed(failures: Sequence[Failure]) -> dict[str, Any]:
    """The first hundred in full, the others by name."""
    return {
        "total": len(failures),
        "full": [_failure(failure) for failure in failures[:_IN_FULL]],
        "others": [failure.row.name for failure in failures[_IN_FULL : _IN_FULL + _NAMES]],
        "more": max(0, len(failures) - _IN_FULL - _NAMES),
    }


def wavering(rows: Iterable[TestRow]) -> list[dict[str, Any]]:
    """Tests that passed only when they ran again."""
    found = [row for row in rows if row.outcome is Outcome.FLAKY]
    return [{"name": row.name, "cell": row.cell, "attempts": row.attempts, "said": row.said} for row in found][:_NAMES]


def unrun(rows: Iterable[TestRow]) -> list[dict[str, Any]]:
    """Skips, expected failures and unexpected passes, by what they are and why; the most frequent first."""
    words = {
        Outcome.SKIPPED: "skipped",
        Outcome.XFAILED: "failed as expected",
        Outcome.XPASSED: "passed although marked as failing",
    }
    alike: dict[tuple[Outcome, str], dict[str, list[str]]] = {}
    for row in rows:
        if row.outcome in words:
            same = alike.setdefault((row.outcome, row.reason.strip() or "no reason given"), {})
            same.setdefault(row.name, []).append(row.cell)
    groups = sorted(alike.items(), key=lambda group: -sum(map(len, group[1].values())))
    return [
        {
            "what": words[outcome],
            "reason": reason,
            "number": sum(map(len, names.values())),
            "tests": [{"name": name, "cells": cells} for name, cells in list(names.items())[:_NAMES]],
            "more": max(0, len(names) - _NAMES),
        }
        for (outcome, reason), names in groups[:_NAMES]
    ]


def borne(rows: Iterable[TestRow]) -> list[dict[str, Any]]:
    """Failures that a waiver covers."""
    return [{"name": row.name, "cell": row.cell, "said": row.said} for row in rows if row.borne][:_NAMES]


def slow(rows: Iterable[TestRow]) -> list[dict[str, Any]]:
    """The slowest tests; `width` is in per cent of the slowest."""
    timed = sorted(
        ((row.seconds, row) for row in rows if row.seconds is not None), key=lambda pair: (-pair[0], pair[1].name)
    )[:_SLOWEST]
    most = timed[0][0] if timed else 0
    return [
        {
            "name": row.name,
            "cell": row.cell,
            "took": duration(seconds),
            "width": round(seconds / most * 100, 1) if most else 0,
        }
        for seconds, row in timed
        if seconds > 0
    ]


def steps(run_dir: Path) -> list[dict[str, Any]]:
    """What the cells and the checks of the release took, the longest first; empty where nobody wrote it down."""
    known = step_times.read(run_dir).items()
    timed = sorted(((value, name) for name, value in known if value > 0), key=lambda pair: (-pair[0], pair[1]))
    return [
        {"name": name, "took": duration(seconds), "width": round(seconds / timed[0][0] * 100, 1)}
        for seconds, name in timed[:_SLOWEST]
    ]


def compact(rows: Sequence[TestRow]) -> dict[str, Any]:
    """All tests in little room: files and cells by number, a letter for the outcome, milliseconds or null."""
    files: dict[str, int] = {}
    cells: dict[str, int] = {}
    packed = []
    for row in rows:
        file, _, rest = row.name.partition("::") if "::" in row.name else ("", "", row.name)
        packed.append(
            [
                files.setdefault(file, len(files)),
                rest,
                cells.setdefault(row.cell, len(cells)),
                _CODES[row.outcome],
                None if row.seconds is None else round(row.seconds * 1000, 1),
            ]
        )
    return {"files": list(files), "cells": list(cells), "tests": packed}


def _failure(failure: Failure) -> dict[str, Any]:
    row = failure.row
    text = row.text or row.reason
    return {
        "name": row.name,
        "cells": list(failure.cells),
        "said": row.said or "it failed and said nothing",
        "place": f"{row.file}:{row.line}" if row.line is not None else "",
        "cut": max(0, len(text) - _TAIL),
        "text": text[-_TAIL:],
        "misses": [miss[:_MISS] for miss in failure.misses],
    }
