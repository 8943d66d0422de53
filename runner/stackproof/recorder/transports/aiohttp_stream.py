"""Bodies for aiohttp: stream readers that get one chunk each time their reader has to wait, so that edges are kept.

aiohttp's own hands out whatever its buffer holds: fed ahead of whoever reads, it would fold recorded chunks into one.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ..decision import Answer
from .aiohttp_failures import Failures
from .aiohttp_patience import Patience

# Seconds that a relay gets to learn that its own client has left, before reading on counts as a miss.
_LEAVING = 2.0
_POLL = 0.02


class _Protocol:
    """What a stream reader tells the connection that fills it. There is none to slow down."""

    connected = True
    _reading_paused = False

    def pause_reading(self) -> None:
        """Asked when the buffer is full."""

    def resume_reading(self, **_options: Any) -> None:
        """Asked when the buffer has room."""


def make_readers(module: ModuleType, failures: Failures) -> tuple[type, type]:
    """Two subclasses of aiohttp's StreamReader: (answer, request, limit, patience) and (live reader, take, limit)."""

    class Reader(module.StreamReader):  # type: ignore[misc, name-defined]
        """Pulls where aiohttp's own waits to be fed."""

        def __init__(self, limit: int) -> None:
            super().__init__(_Protocol(), limit, loop=asyncio.get_running_loop())
            self._left = asyncio.Event()

        async def _pull(self) -> bytes:
            """The next chunk, or nothing at the end."""
            raise NotImplementedError

        async def _wait(self, func_name: str) -> None:  # noqa: ARG002 - aiohttp's signature
            chunk = await self._pull()
            if chunk:
                if self._http_chunk_splits is None and not self.total_bytes:
                    self.begin_http_chunk_receiving()
                self.feed_data(chunk)
                if self._http_chunk_splits is not None:
                    self.end_http_chunk_receiving()
            else:
                self.feed_eof()

        async def wait_eof(self) -> None:
            while not self.is_eof():
                await self._wait("wait_eof")

        def set_exception(self, exc: BaseException, *args: Any) -> None:
            # How a response that is closed or released tells its body.
            self._left.set()
            super().set_exception(exc, *args)

    class Replayed(Reader):
        """A recorded body."""

        def __init__(self, answer: Answer, request: Any, limit: int, patience: Callable[[], Patience]) -> None:
            super().__init__(limit)
            self._chunks = answer.paced()
            self._next: tuple[float, bytes] | None = None  # when it is due, and what
            self._answer, self._request, self._patience = answer, request, patience

        async def _pull(self) -> bytes:
            if self._next is None:
                wait, chunk = next(self._chunks, (0.0, b""))
                self._next = (time.monotonic() + wait, chunk)
            due, chunk = self._next
            left = due - time.monotonic()
            if left > 0:
                # Whoever gives this read up finds the chunk at the next one.
                await self._patience().hold(left, self._answer, failures, self._request, self.set_exception)
            self._next = None
            if chunk:
                return chunk
            if self._answer.read_on is not None:
                await self._until_left()
            error: BaseException | None = None
            if self._answer.exception is not None:
                error = failures.rebuild(self._answer.exception, self._request, has_head=True)
            elif self._answer.read_on is not None and not self._left.is_set():
                error = module.ClientPayloadError(self._answer.read_on())
            if error is not None:
                self.set_exception(error)
                raise error
            return b""

        async def _until_left(self) -> None:
            # A relay reads ahead of its client: it learns that the client has left a moment after the last event.
            # So many turns, and not so long by a clock: on a busy machine others may have had none meanwhile.
            for _ in range(round(_LEAVING / _POLL)):
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._left.wait(), _POLL)
                    break

    class Teed(Reader):
        """A live body on its way to the caller, with the take listening."""

        def __init__(self, source: Any, take: Any, limit: int) -> None:
            super().__init__(limit)
            self._source, self._take = source, take
            self._ready: deque[bytes] = deque()
            if source.at_eof():  # of an answer without a body nobody reads the end
                self._ready.extend(take.end())
                if not self._ready:
                    self.feed_eof()

        async def _pull(self) -> bytes:
            while not self._ready:
                if self._source.at_eof():
                    self._ready.extend(self._take.end())
                    return self._ready.popleft() if self._ready else b""
                # A cancelled wait is not the end: whoever limits the time for one read may read on.
                try:
                    chunk, _ = await self._source.readchunk()
                    self._ready.extend(self._take.feed(chunk))
                except Exception as error:
                    self._take.fail(failures.tell(error))
                    failed = failures.undecodable(error)
                    self.set_exception(failed)
                    raise failed from error
            return self._ready.popleft()

        async def read_ahead(self) -> None:
            """Have the whole body ready before anybody asks for it; a failure is told to who asks."""
            pieces = []
            with contextlib.suppress(Exception):
                while piece := await self._pull():
                    pieces.append(piece)
            self._ready.extend(pieces)

        def set_exception(self, exc: BaseException, *args: Any) -> None:
            self._take.close()
            super().set_exception(exc, *args)

        def __del__(self) -> None:
            # A cancelled caller may never have read, nor closed: whoever waits for calls in flight learns it here.
            self._take.close()

    return Replayed, Teed
