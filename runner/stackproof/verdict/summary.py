"""The page of a CI job: what a command appends to the file that GITHUB_STEP_SUMMARY names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from stackproof.plaintext import counted
from stackproof.verdict.markdown import SUMMARY_LIMIT

_ROOM_FOR_THE_CUT = 100


def wanted(environ: Mapping[str, str]) -> bool:
    """Whether the job has such a page."""
    return bool(environ.get("GITHUB_STEP_SUMMARY"))


def append(environ: Mapping[str, str], make: Callable[[int], str]) -> bool:
    """Append what `make` gives for so many bytes of room; whether there is such a file, and it could be written.

    What other steps of the same job wrote there counts towards the size that GitHub accepts.
    """
    name = environ.get("GITHUB_STEP_SUMMARY")
    if not name:
        return False
    path = Path(name)
    try:
        room = SUMMARY_LIMIT - (path.stat().st_size if path.exists() else 0) - 1
        with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(make(room) + "\n")
    except OSError:
        return False
    return True


def fitted(lines: Iterable[str], room: int) -> str:
    """Lines from the first one on, as many whole ones as `room` bytes of UTF-8 take; the last says what is missing."""
    every = list(lines)
    sizes = [len(line.encode(errors="backslashreplace")) + 1 for line in every]
    if sum(sizes) <= room:
        return "\n".join(every)
    left = room - _ROOM_FOR_THE_CUT
    kept = 0
    while kept < len(every) and sizes[kept] <= left:
        left -= sizes[kept]
        kept += 1
    return "\n".join([*every[:kept], "", f"Cut to fit: {counted(len(every) - kept, 'line')} left out."])
