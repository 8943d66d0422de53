"""`shard.json`: which part of a cell's tests a shard had, so that nobody takes a part for the whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackproof.evidence import jsonfile
from stackproof.shards.records import MOST, Shard

NAME = "shard.json"
SCHEMA = 1
_LONGEST = 1e15  # seconds; more is no estimate, and whole numbers may be too large for a float


@dataclass(frozen=True, kw_only=True, slots=True)
class ShardFacts:
    """tests: collected in the whole. own: of them in this shard. known: of the whole, how many had a time before.

    estimated: seconds of this shard's tests, and of all. partition: digest of who has which test. notes: what was
    asked for and could not be.
    """

    shard: Shard
    whole: str
    partition: str
    tests: int
    own: int
    known: int
    estimated: float
    estimated_whole: float
    notes: tuple[str, ...] = ()

    def words(self) -> str:
        """`shard 2/3: 13 of 39 tests, about 4.1 s of 12.3 s (times of 39 tests are known)`."""
        told = f"shard {self.shard}: {self.own} of {self.tests} tests"
        if not self.known:
            return f"{told} (no times are known: by number)"
        known = "" if self.known == self.tests else f" (times of {self.known} are known)"
        return f"{told}, about {self.estimated:.1f} s of {self.estimated_whole:.1f} s{known}"


def write(cell_dir: Path, facts: ShardFacts) -> None:
    """Write it."""
    jsonfile.write(
        cell_dir / NAME,
        {
            "schema": SCHEMA,
            "kind": "shard",
            "index": facts.shard.index,
            "total": facts.shard.total,
            "whole": facts.whole,
            "partition": facts.partition,
            "tests": facts.tests,
            "own": facts.own,
            "known": facts.known,
            "estimated": round(facts.estimated, 3),
            "estimated_whole": round(facts.estimated_whole, 3),
            "notes": list(facts.notes),
        },
    )


def read(cell_dir: Path) -> ShardFacts | None:
    """What `write` wrote; None when it is missing, damaged, or says what cannot be."""
    data = jsonfile.read(cell_dir / NAME)
    return None if data is None else _facts(data)


def _facts(data: Mapping[str, Any]) -> ShardFacts | None:
    numbers = {key: jsonfile.number(data, key) for key in ("index", "total", "tests", "own", "known")}
    index, total, tests = numbers["index"], numbers["total"], numbers["tests"]
    own, known = numbers["own"], numbers["known"]
    whole, partition = jsonfile.text(data, "whole"), jsonfile.text(data, "partition")
    if data.get("schema") != SCHEMA or whole is None or partition is None:
        return None
    if index is None or total is None or tests is None or own is None or known is None:
        return None
    if not 1 <= index <= total <= MOST or own > tests:
        return None
    return ShardFacts(
        shard=Shard(index=index, total=total),
        whole=whole,
        partition=partition,
        tests=tests,
        own=own,
        known=known,
        estimated=_seconds(data, "estimated"),
        estimated_whole=_seconds(data, "estimated_whole"),
        notes=jsonfile.strings(data, "notes"),
    )


def _seconds(data: Mapping[str, Any], key: str) -> float:
    value = data.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return float(value) if 0 <= value < _LONGEST else 0.0
