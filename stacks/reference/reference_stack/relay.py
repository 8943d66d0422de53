"""Passing a provider's answer on: as a whole, or piece by piece as it arrives."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack
from typing import Any, Protocol, TypeVar

import httpx2
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from reference_stack.answers import Dialect, NoAnswerError, error_event, no_answer

T = TypeVar("T")


class ClientLeftError(Exception):
    """Nobody waits for the answer any more."""


class Rewriting(Protocol):
    """What to make of a provider's answer before it is passed on."""

    async def whole(self, content: bytes) -> bytes:
        """Of a body that came in one piece."""

    def pieces(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Of a streamed body."""


async def relay(
    upstream: Any,
    *,
    dialect: Dialect,
    provider: str,
    streamed: bool,
    request: Request,
    rewriting: Rewriting | None = None,
) -> Response:
    """Open `upstream` (what an SDK's `.with_streaming_response` gives) and pass its body on, byte for byte.

    With `rewriting` it is passed on as that makes it. Raises what the SDK raises before the answer begins, and
    NoAnswerError when one that is not streamed breaks off. The connection to the provider is closed when the answer has
    ended, when the client leaves, and when anything fails.
    """
    async with AsyncExitStack() as stack:
        response: httpx2.Response = (
            await while_client_waits(request, stack.enter_async_context(upstream))
        ).http_response
        media_type = response.headers.get("content-type")
        if not streamed:
            content = await while_client_waits(request, _whole(response))
            if rewriting is not None:
                content = await rewriting.whole(content)
            return Response(content, status_code=response.status_code, media_type=media_type)
        pieces = _pieces(response, dialect, provider)
        if rewriting is not None:
            pieces = rewriting.pieces(pieces)
        return Streamed(pieces, upstream=stack.pop_all(), status_code=response.status_code, media_type=media_type)


class Streamed(StreamingResponse):
    """A streamed answer that owns the provider's connection, also when its iterator was never started."""

    def __init__(self, pieces: AsyncIterator[bytes], *, upstream: AsyncExitStack, **options: Any) -> None:
        super().__init__(pieces, **options)
        self._upstream = upstream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._upstream:
            await super().__call__(scope, receive, send)


async def _whole(response: httpx2.Response) -> bytes:
    try:
        return await response.aread()
    except httpx2.HTTPError as error:
        # The SDK has given the answer away by then, and makes no error of its own of this.
        raise NoAnswerError(timed_out=isinstance(error, httpx2.TimeoutException)) from error


async def _pieces(response: httpx2.Response, dialect: Dialect, provider: str) -> AsyncIterator[bytes]:
    try:
        async for piece in response.aiter_bytes():
            yield piece
    except httpx2.HTTPError as error:
        yield error_event(dialect, no_answer(provider, error))


async def while_client_waits(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`; it is cancelled, and ClientLeftError raised, when the client leaves before."""
    task = asyncio.ensure_future(work)
    # The body has been read, so the next message can only be that the client is gone.
    gone = asyncio.ensure_future(request.receive())
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientLeftError
        return task.result()
    finally:
        for pending in (task, gone):
            pending.cancel()
        await asyncio.wait({task, gone})
