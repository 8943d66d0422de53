"""A turn's events on their way to whoever reads them: none twice, none lost, in their order."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress

from reference_stack.agent.events import Emit, SessionEvent
from reference_stack.agent.mailbox import MailboxClosedError


class Outbox:
    """Events that happened and were not read yet.

    An event is noted in the moment that it becomes true, and told when there is room for it. So a turn that is
    interrupted between the two still tells it.
    """

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._waiting: deque[SessionEvent] = deque()

    def note(self, event: SessionEvent) -> None:
        """It has happened."""
        self._waiting.append(event)

    async def tell(self) -> None:
        """Returns when everything was told. Raises MailboxClosedError where nobody reads any more."""
        while self._waiting:
            await self._emit(self._waiting[0])
            # An `emit` that is cancelled has told nothing, so the event stays first until then.
            self._waiting.popleft()

    async def tell_within(self, seconds: float) -> None:
        """Tell what is left, to a reader who may be slow or gone: nobody waits for him for ever."""
        with suppress(MailboxClosedError, TimeoutError):
            async with asyncio.timeout(seconds):
                await self.tell()
