"""A bounded queue between tasks of one event loop: who puts too much waits, and who is cancelled leaves no trace."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import Generic, TypeVar

from reference_stack.agent.failures import AgentError

T = TypeVar("T")


class MailboxClosedError(AgentError):
    """Nothing goes in any more, or nothing will come out."""


class Mailbox(Generic[T]):
    """First in, first out, for items and for those who wait alike; never more than `capacity` items.

    A `put` that is cancelled has put nothing, a `get` that is cancelled has taken nothing. After `close` what is in it
    can still be had; then, and for whoever puts or waits, there is MailboxClosedError.
    """

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"A mailbox holds at least one item, not {capacity}.")
        self.capacity = capacity
        self._items: deque[T] = deque()
        self._putting = _Line()
        self._getting = _Line()
        self._closed = False

    def __len__(self) -> int:
        return len(self._items)

    @property
    def closed(self) -> bool:
        """Whether nothing goes in any more."""
        return self._closed

    @property
    def producers(self) -> int:
        """How many wait to put."""
        return len(self._putting)

    @property
    def consumers(self) -> int:
        """How many wait to get."""
        return len(self._getting)

    async def put(self, item: T) -> None:
        """Put an item at the end, as soon as there is room. Raises MailboxClosedError, also when closed meanwhile."""
        if not self._closed and len(self._items) + self._putting.promised >= self.capacity:
            await self._turn(self._putting)
        if self._closed:
            raise MailboxClosedError("The mailbox is closed.")
        self._items.append(item)
        self._wake()

    async def get(self) -> T:
        """Take the first item, as soon as there is one. Raises MailboxClosedError when none will come."""
        if len(self._items) <= self._getting.promised:
            if self._closed and not self._items:
                raise MailboxClosedError("The mailbox is closed and empty.")
            await self._turn(self._getting)
        item = self._items.popleft()
        self._wake()
        return item

    def close(self) -> None:
        """Let nothing in any more. Safe to call again."""
        self._closed = True
        self._putting.dismiss()
        self._wake()

    async def _turn(self, line: _Line) -> None:
        try:
            await line.wait()
        except asyncio.CancelledError:
            # The turn may have come in the same moment: then it is the next one's.
            self._wake()
            raise

    def _wake(self) -> None:
        self._putting.wake(self.capacity - len(self._items))
        self._getting.wake(len(self._items))
        if self._closed and not self._items:
            self._getting.dismiss()


class _Line:
    """Those who wait, in the order they came.

    `promised` turns belong to somebody who was woken and has not run since; nobody else may take them.
    """

    def __init__(self) -> None:
        self.promised = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    async def wait(self) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        finally:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self.promised -= 1
            else:
                with suppress(ValueError):
                    self._waiting.remove(turn)

    def wake(self, turns: int) -> None:
        """Wake as many as there are turns for."""
        while self._waiting and self.promised < turns:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                self.promised += 1

    def dismiss(self) -> None:
        for turn in self._waiting:
            if not turn.done():
                turn.set_exception(MailboxClosedError("The mailbox was closed."))
        self._waiting.clear()
