"""The page of a CI job: what a command appends to the file that GITHUB_STEP_SUMMARY names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from stackproof.verdict.markdown import SUMMARY_LIMIT


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
