"""One request and its answer, between an ASGI app and whoever waits for it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

Message = MutableMapping[str, Any]

# What a server buffers for a slow reader before it makes the app wait (asyncio's and uvicorn's high-water mark).
UNREAD_LIMIT = 64 * 1024


class BrokenAnswerError(Exception):
    """The app ended its answer in a way that a server would turn into a closed connection."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """Status and raw headers, as they came with `http.response.start`."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]


class Exchange:
    """The two ASGI channels of one request. Every method runs on the app's own event loop.

    The message formats are those of https://asgi.readthedocs.io/en/latest/specs/www.html.
    """

    def __init__(self, *, body: bytes, head_only: bool) -> None:
        self._request: Message | None = {"type": "http.request", "body": body, "more_body": False}
        self._head_only = head_only
        self._unread: deque[Head | bytes] = deque()
        self._unread_bytes = 0
        self._started = False
        self._complete = False
        self._error: BaseException | None = None
        self._over = False
        self._arrived = asyncio.Event()
        self._taken = asyncio.Event()
        self._gone = asyncio.Event()

    @property
    def complete(self) -> bool:
        """True once the app has sent the last piece of its answer."""
        return self._complete

    async def receive(self) -> Message:
        """The app's `receive`: the whole request body, then nothing until the client is gone or has its answer."""
        if self._request is not None:
            message, self._request = self._request, None
            return message
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """The app's `send`. As in a server, what is sent to a client that left is dropped."""
        if self._gone.is_set():
            # An app that sends in a loop must give way somewhere, or nothing could ever cancel it.
            await asyncio.sleep(0)
            return
        match message["type"]:
            case "http.response.start" if not self._started:
                self._started = True
                headers = tuple((bytes(name), bytes(value)) for name, value in message.get("headers", ()))
                self._unread.append(Head(status=message["status"], headers=headers))
            case "http.response.body" if self._started:
                await self._send_body(message.get("body", b""), more=message.get("more_body", False))
            case other:
                raise RuntimeError(f"The app sent {other!r}, which does not belong at this point of an answer.")
        self._arrived.set()

    async def _send_body(self, body: bytes, *, more: bool) -> None:
        if body and not self._head_only:
            self._unread.append(bytes(body))
            self._unread_bytes += len(body)
            self._arrived.set()
        if not more:
            self._complete = True
            self._gone.set()
        while self._unread_bytes > UNREAD_LIMIT and not self._gone.is_set():
            self._taken.clear()
            await self._taken.wait()

    async def take(self) -> Head | bytes | None:
        """The next piece of the answer as soon as there is one; None at its end.

        Raises what the app raised, or BrokenAnswerError when the app stopped before its answer was complete.
        """
        while not self._unread:
            if self._complete:
                return None
            if self._error is not None:
                raise self._error
            if self._over:
                text = "within its answer" if self._started else "without an answer"
                raise BrokenAnswerError(f"The app returned {text}.")
            self._arrived.clear()
            await self._arrived.wait()
        piece = self._unread.popleft()
        if isinstance(piece, bytes):
            self._unread_bytes -= len(piece)
            self._taken.set()
        return piece

    def disconnect(self) -> None:
        """The client left: `receive` says so from now on, and a `send` that waits for a reader goes on."""
        self._gone.set()
        self._taken.set()

    def end(self, error: BaseException | None) -> None:
        """The app will send nothing more, because of `error` or because it returned."""
        self._over = True
        self._error = self._error or error
        self.disconnect()
        self._arrived.set()
