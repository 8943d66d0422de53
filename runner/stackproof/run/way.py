"""The folder of the socket through which sealed tests reach a container: a short path, gone with whoever made it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stackproof.stack import proctable

# A path of a Unix socket has to be short, and a run's folder may lie deep. Process and start time follow.
_PREFIX = "stackproof-way-"


@contextmanager
def folder() -> Iterator[Path]:
    """A folder for as long as the context lasts; what killed processes of this user have left goes first."""
    sweep()
    own = proctable.entry(os.getpid())
    prefix = f"{_PREFIX}{os.getpid()}-{0 if own is None else own.started}-"
    with tempfile.TemporaryDirectory(prefix=prefix) as name:
        yield Path(name)


def sweep() -> None:
    """Remove the folders that killed processes of this user have left."""
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*-*"):
        pid, started, *_ = left.name.removeprefix(_PREFIX).split("-")
        if pid.isdigit() and started.isdigit() and not proctable.alive(int(pid), int(started)):
            # Another user's folder refuses to go.
            shutil.rmtree(left, ignore_errors=True)
