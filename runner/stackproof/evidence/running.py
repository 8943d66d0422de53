"""`running`: the tests that are being run now, so that a session which dies inside of one still names it.

It lies beside `tests.jsonl`, which grows, and is overwritten in place. For each test at one time it has a record of
`SIZE` bytes: a line of JSON, filled up with spaces, {"nodeid": …, "attempt": n}, or {"sha256": …, "attempt": n} where
the node id is too long for it. When a test has ended its record stays until another takes the place: which tests ended,
and how often, is what `tests.jsonl` tells.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from stackproof.evidence import jsonfile

NAME = "running"
SIZE = 1024
"""Divides the pages of every machine: one that is killed while it writes a record leaves the old one or the new one."""


def record(nodeid: str, attempt: int) -> bytes:
    """The record of a test that begins for the `attempt`th time."""
    line = json.dumps({"nodeid": nodeid, "attempt": attempt}, ensure_ascii=True)
    if len(line) >= SIZE:
        line = json.dumps({"sha256": _digest(nodeid), "attempt": attempt}, ensure_ascii=True)
    return line.ljust(SIZE - 1).encode() + b"\n"


def read(path: Path, collected: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Tests that began last, and their attempts; nothing when there is no file. What is no record is left out.

    collected: the names that a long one can have.
    """
    for event in jsonfile.lines(path):
        nodeid = None if event is None else _named(event, collected)
        if event is not None and nodeid is not None:
            yield nodeid, jsonfile.number(event, "attempt") or 1


def _named(event: dict[str, object], collected: Iterable[str]) -> str | None:
    if (nodeid := jsonfile.text(event, "nodeid")) is not None:
        return nodeid
    digest = jsonfile.text(event, "sha256")
    return digest and next((name for name in collected if _digest(name) == digest), None)


def _digest(nodeid: str) -> str:
    return hashlib.sha256(nodeid.encode("utf-8", "surrogatepass")).hexdigest()
