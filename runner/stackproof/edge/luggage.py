"""The code that the edge's process imports: the recorder and this package, alone in a folder, whatever is installed."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

import stackproof

_ROOMS = ("recorder", "edge")


def put(folder: Path) -> Path:
    """Put them into `folder`, as a package `stackproof`; returns the folder, which goes on the Python path."""
    package = Path(stackproof.__file__).parent
    target = folder / "stackproof"
    if not target.is_dir():
        staging = folder / f"stackproof.{os.getpid()}"
        for room in _ROOMS:
            shutil.copytree(package / room, staging / room, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(package / "__init__.py", staging)
        # Another edge of the same cell may have been first; it has the same files.
        with contextlib.suppress(OSError):
            staging.rename(target)
        shutil.rmtree(staging, ignore_errors=True)
    return folder
