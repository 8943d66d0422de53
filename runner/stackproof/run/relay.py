"""The one way out of a sealed network namespace: a process beside the tests that hands connections on to a socket.

A Unix socket is found by its path, whatever the network. At its other end the cell hands the connection on into the
stack's container, and nowhere else.
"""

from __future__ import annotations

import asyncio
import os
import signal

from stackproof.stack import pump
from stackproof.stack.tether import tie


def start(listen: str, target: str) -> None:
    """Start it, as a child that ends with this process; returns when it listens, OSError when it cannot."""
    ready, told = os.pipe()
    parent = os.getpid()
    if os.fork() == 0:
        os.close(ready)
        if tie(parent, signal.SIGKILL):
            asyncio.run(_serve(listen, target, told))
        os._exit(0)
    os.close(told)
    with os.fdopen(ready, "rb") as waiting:
        if not waiting.read(1):
            raise OSError(f"nobody can listen at {listen}")


async def _serve(listen: str, target: str, told: int) -> None:
    ready = asyncio.Event()
    serving = asyncio.ensure_future(pump.serve(listen, target, ready))
    await asyncio.wait({serving, asyncio.ensure_future(ready.wait())}, return_when=asyncio.FIRST_COMPLETED)
    if ready.is_set():
        os.write(told, b"1")
    os.close(told)
    await serving
