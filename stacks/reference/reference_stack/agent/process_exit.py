"""Noticing that a process has ended, and leaving it to be reaped."""

from __future__ import annotations

import asyncio
import os
import subprocess

_STEP = 0.02


async def has_exited(process: subprocess.Popen[bytes]) -> None:
    """Returns when it has. Until it is reaped nobody else can have its number."""
    try:
        handle = os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        # Another system than Linux, or a sandbox that does not know the call.
        await _looked_for(process)
        return
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    try:
        loop.add_reader(handle, ended.set)
        await ended.wait()
    finally:
        loop.remove_reader(handle)
        os.close(handle)


async def _looked_for(process: subprocess.Popen[bytes]) -> None:
    while not _ended(process):  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(_STEP)


def _ended(process: subprocess.Popen[bytes]) -> bool:
    if hasattr(os, "waitid"):
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    return process.poll() is not None
