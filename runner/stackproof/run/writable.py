"""Whether recordings can be written, asked before anything starts: a run that cannot keep its answers is wasted."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from stackproof.errors import RecordingError


def require(recordings: Path, setup: str) -> None:
    """Write a file where recordings of `setup` go, and remove it. RecordingError when that does not work.

    Tried, not asked: permissions, read-only mounts and full disks all show, and a super-user is told the truth.
    """
    folder = recordings / setup
    made: list[Path] = []
    try:
        for part in (*reversed(folder.parents), folder):
            if not part.is_dir():
                part.mkdir()
                made.append(part)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".stackproof-"):
            pass
        # Folders that recordings are in already have owners of their own (a container that ran as another user).
        closed = next((path for path in folder.iterdir() if path.is_dir() and not os.access(path, os.W_OK)), None)
    except OSError as error:
        raise RecordingError(
            f"recordings cannot be written to {folder}: {error.strerror or error}",
            hint="make the folder writable, choose another with --recording-dir, or use --inference-mode replay",
        ) from error
    finally:
        for part in reversed(made):
            part.rmdir()
    if closed is not None:
        raise RecordingError(
            f"recordings cannot be written to {closed}: Permission denied",
            hint="make the folder writable, choose another with --recording-dir, or use --inference-mode replay",
        )
