"""Hands connections on from one place to another: into a container, through a Unix socket into a network namespace.

A place is what it is for `pump.serve`.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from stackproof.errors import StackStartError
from stackproof.stack import pump

_START = 60.0  # seconds
_ROUNDS = 5


@contextmanager
def forwarding(listen: str, target: str) -> Iterator[None]:
    """Hand connections on, from a thread of its own, for as long as the context lasts."""
    loop = asyncio.new_event_loop()
    started = threading.Event()
    failed: list[BaseException] = []
    tasks: list[asyncio.Task[None]] = []

    def run() -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_until_complete(main())
        finally:
            started.set()
            loop.close()

    async def main() -> None:
        ready = asyncio.Event()
        serving = asyncio.ensure_future(pump.serve(listen, target, ready))
        tasks.append(serving)
        waiting = asyncio.ensure_future(ready.wait())
        await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
        started.set()
        waiting.cancel()
        try:
            await serving
        except asyncio.CancelledError:
            pass
        except OSError as error:
            failed.append(error)
        await _end_others()

    thread = threading.Thread(target=run, name="stackproof-forwarder", daemon=True)
    thread.start()
    try:
        if not started.wait(_START) or failed:
            why = failed[0] if failed else f"it did not start within {_START:g} s"
            raise StackStartError(f"connections to {listen} cannot be handed on to {target}: {why}")
        yield
    finally:
        if thread.is_alive() and tasks:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(tasks[0].cancel)
        thread.join(timeout=_START)


async def _end_others() -> None:
    """End what is open, and let the transports close."""
    for _ in range(_ROUNDS):
        # What is being accepted in this very moment has no transport yet that could be closed.
        await asyncio.sleep(0)
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    for _ in range(_ROUNDS):
        await asyncio.sleep(0)
