"""What a run did with the recordings, cell by cell, and whether the files can be read at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from stackproof.evidence import jsonfile

SCHEMA = 1
DAMAGED_MISS = "damaged"


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordingFacts:
    """files: recordings in the folders that the run read. damaged: those that are no JSON object, by path."""

    files: int = 0
    damaged: tuple[str, ...] = ()
    commit: str | None = None
    policy: str | None = None


def inspect(folder: Path, setups: Iterable[str]) -> RecordingFacts:
    """Look at every recording of `setups` below the recording directory `folder`."""
    files = sorted(path for setup in sorted(set(setups)) for path in (folder / setup).rglob("*.json"))
    damaged = (path.relative_to(folder).as_posix() for path in files if jsonfile.read(path) is None)
    return RecordingFacts(files=len(files), damaged=tuple(damaged))


def to_json(facts: RecordingFacts) -> dict[str, Any]:
    """What `checks/recordings.json` holds."""
    return {"schema": SCHEMA, "kind": "recordings", **asdict(facts)}


def read(path: Path) -> RecordingFacts | None:
    """Read `checks/recordings.json`; None when it is missing or is something else."""
    data = jsonfile.read(path)
    if data is None or data.get("schema") != SCHEMA or data.get("kind") != "recordings":
        return None
    files = jsonfile.number(data, "files")
    if files is None:
        return None
    return RecordingFacts(
        files=files,
        damaged=jsonfile.strings(data, "damaged"),
        commit=jsonfile.text(data, "commit"),
        policy=jsonfile.text(data, "policy"),
    )


def damaged_misses(path: Path) -> tuple[str, ...]:
    """The first lines of those misses in `misses.jsonl` that were due to a damaged file."""
    found: list[str] = []
    for miss in jsonfile.lines(path):
        if miss is None:
            found.append(f"{path.name} holds a line that is no JSON object")
        elif miss.get("kind") == DAMAGED_MISS:
            found.append(_first_line(miss))
    return tuple(found)


def missed_tests(path: Path) -> frozenset[str]:
    """The tests that `misses.jsonl` names."""
    named = (jsonfile.text(miss, "test_id") for miss in jsonfile.lines(path) if miss is not None)
    return frozenset(test for test in named if test is not None)


def _first_line(miss: Mapping[str, Any]) -> str:
    message = jsonfile.text(miss, "message") or "a recording is damaged"
    return message.strip().partition("\n")[0]
