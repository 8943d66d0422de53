"""One test at a time has the Docker engine, where what stands on it is counted."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

_TURN = 3_600.0  # seconds; longer than all of these tests take together, one after another on a slow machine


@contextlib.contextmanager
def alone(what: str = "docker") -> Iterator[None]:
    """Wait until no other worker, and no other pytest, is in here."""
    with (Path(tempfile.gettempdir()) / f"stackproof-{what}-tests-{os.getuid()}.lock").open("w") as file:
        deadline = time.monotonic() + _TURN
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                assert time.monotonic() < deadline, f"other tests have had the engine for {_TURN} s"
                time.sleep(0.1)
        yield
