"""Files beside recordings that belong to none of them: bodies without a recording, and what a killed process wrote."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from stackproof.recorder import recording, sidefile
from stackproof.recordings import corpus
from stackproof.recordings.findings import Kind

# Seconds after which a temporary file is nobody's: a write takes less than one.
_ABANDONED = 60.0


def files(root: Path, wanted: Iterable[str] = ()) -> Iterator[Path]:
    """Every file of the wanted setups (default: of all), folder by folder, each in the order of names."""
    for setup in corpus.setups(root, wanted):
        for folder, below, names in os.walk(root / setup):
            below.sort()
            yield from (Path(folder, name) for name in sorted(names))


def is_recording(path: Path) -> bool:
    """Whether a file is looked at as a recording, as `corpus.paths` does."""
    return path.suffix == ".json" and not path.name.startswith(".")


def leftover(path: Path, *, now: float | None = None) -> tuple[Kind, str] | None:
    """What a file that is no recording is, and why it belongs to nobody; None for one that is in its place.

    What is younger than a minute may be somebody's who writes now. now: seconds since the epoch, the clock's when None.
    """
    is_temporary = path.name.startswith(".") and path.name.endswith(".tmp")
    if not is_temporary and not sidefile.is_one(path.name):
        return None
    try:
        age = (time.time() if now is None else now) - path.stat().st_mtime
    except OSError:
        return None
    if age < _ABANDONED:
        return None
    if is_temporary:
        return Kind.ABANDONED, "a process was killed while it wrote it"
    return _body(path)


def _body(path: Path) -> tuple[Kind, str] | None:
    owner = path.with_name(sidefile.belongs_to(path.name))
    try:
        text = owner.read_bytes()
    except OSError:
        return Kind.ORPHANED, f"there is no {owner.name} that it is the body of"
    if f'"{path.name}"'.encode() in text:
        return None
    try:
        recording.read(str(owner))
    except recording.DamagedRecordingError:
        return None  # once that is restored, it may name it again
    return Kind.ORPHANED, f"{owner.name} does not name it as its body"
