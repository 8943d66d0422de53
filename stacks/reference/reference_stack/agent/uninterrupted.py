"""What has to come to its end once it has begun."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")


async def uninterrupted(work: Awaitable[T]) -> T:
    """The result of `work`, which runs to its end even if the caller is cancelled meanwhile, as often as may be.

    The cancellation is raised afterwards, in the place of a result or of what the work raised. The work itself has to
    see to it that it ends; and a coroutine is cancelled all the same by an event loop that is being closed.
    """
    running = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not running.done():
        try:
            await asyncio.wait({running})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is None:
        return running.result()
    if not running.cancelled():
        running.exception()  # looked at, so that nobody is told that it was not
    raise cancelled


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The result of `work`, which may block, from another thread; it is over when this returns or raises.

    Unlike `asyncio.to_thread`, whose thread goes on when the caller was cancelled.
    """
    return await uninterrupted(asyncio.get_running_loop().run_in_executor(None, lambda: work(*args, **kwargs)))
