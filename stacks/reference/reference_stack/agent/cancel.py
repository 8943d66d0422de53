"""How a turn is told to end: one token for the turn, looked at wherever it can stop."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from reference_stack.agent.failures import TurnCancelledError
from reference_stack.agent.uninterrupted import uninterrupted

T = TypeVar("T")


class CancelToken:
    """Set once, never unset. It belongs to one event loop; what is set first is the reason.

    What waits for long waits for `wait()` too; what goes step by step calls `check()` between the steps.
    """

    def __init__(self) -> None:
        self._set = asyncio.Event()
        self._reason: str | None = None

    @property
    def cancelled(self) -> bool:
        """Whether the turn has to end."""
        return self._set.is_set()

    @property
    def reason(self) -> str | None:
        """Why, in words; None as long as it goes on."""
        return self._reason

    def cancel(self, reason: str) -> None:
        """Have the turn end; a second call changes nothing."""
        if self._reason is None:
            self._reason = reason
            self._set.set()

    def check(self) -> None:
        """Go on, or raise TurnCancelledError with the reason."""
        if self._reason is not None:
            raise TurnCancelledError(self._reason)

    async def wait(self) -> str:
        """The reason, as soon as there is one. Whoever waits for it gives the wait an end of his own."""
        await self._set.wait()
        assert self._reason is not None  # noqa: S101 - set before the event is
        return self._reason


async def unless_cancelled(work: Coroutine[Any, Any, T], cancel: CancelToken, *, grace: float = 10.0) -> T:
    """The result of `work`, or TurnCancelledError; then `work` was cancelled, and given `grace` seconds to end.

    What has ended in the moment of the cancellation has ended: its result counts.
    """
    if cancel.cancelled:
        work.close()
        cancel.check()
    task = asyncio.ensure_future(work)
    told = asyncio.ensure_future(cancel.wait())
    try:
        await asyncio.wait({task, told}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
    finally:
        told.cancel()
        if not task.done():
            task.cancel()
            # Also where the caller is cancelled again and again: nothing goes on behind his back.
            await uninterrupted(asyncio.wait({task}, timeout=grace))
            if task.done() and not task.cancelled():
                task.exception()  # looked at, so that nobody is told that it was not
    cancel.check()
    raise AssertionError("unreachable: one of the two has ended")
