"""Processes that a run has left: told by a variable that only our runs have in their environment (Linux, proc(5))."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

MARK = "OGX_SUITE_RUN"
_GRACE = 5.0


def servers(value: str) -> list[int]:
    """Ids of processes below whose command is a server of OGX and whose `MARK` is `value`."""
    return [pid for pid in _marked(value) if b"stack\0run" in _read(pid, "cmdline")]


def end(value: str) -> None:
    """End all processes whose `MARK` is `value`, other than this one: SIGTERM, a few seconds, SIGKILL."""
    for signum in (signal.SIGTERM, signal.SIGKILL):
        for pid in _marked(value):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signum)
        deadline = time.monotonic() + _GRACE
        while _marked(value) and time.monotonic() < deadline:
            time.sleep(0.1)


def _marked(value: str) -> list[int]:
    mark = f"{MARK}={value}".encode()
    mine = os.getpid()
    pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]
    return [pid for pid in pids if pid != mine and mark in _read(pid, "environ").split(b"\0")]


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""
