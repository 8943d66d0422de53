"""A front before servers that do as they are told."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any

from front import Deadlines, Front, Upstreams

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


TEXT, TOOLS = "smollm2:135m", "stackproof-scripted-tools"


LIMIT = 120.0  # seconds for any one test


def run(coroutine: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(LIMIT):
            await coroutine

    asyncio.run(bounded())


@contextlib.asynccontextmanager
async def listening(handler: Handler) -> AsyncIterator[int]:
    async def closing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handler(reader, writer)
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    server = await asyncio.start_server(closing, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        # Handlers must have ended by themselves: whatever still runs would be a leak of the front.
        await asyncio.sleep(0.05)


@contextlib.asynccontextmanager
async def fronted(
    text: Handler, tools: Handler | None = None, *, api_key: str | None = None, deadlines: Deadlines | None = None
) -> AsyncIterator[int]:
    front = Front(api_key=api_key, deadlines=deadlines)
    async with listening(text) as first, listening(tools or text) as second, listening(front) as port:
        front.upstreams = Upstreams(ports={TEXT: first, TOOLS: second}, default=TEXT)
        yield port


@contextlib.asynccontextmanager
async def asked(port: int, raw: bytes) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(raw)
    try:
        yield reader, writer
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def answer(port: int, raw: bytes) -> bytes:
    async with asked(port, raw) as (reader, _):
        return await reader.read()


def post(body: object, *lines: str, path: str = "/v1/chat/completions") -> bytes:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = [f"POST {path} HTTP/1.1", "Host: provider", f"Content-Length: {len(raw)}", *lines]
    return "\r\n".join([*head, "", ""]).encode() + raw


def says(body: bytes, status: bytes = b"200 OK") -> Handler:
    """An upstream that reads a head and answers; a body of the request goes unread."""

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 %s\r\nServer: fake\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body))
        await writer.drain()

    return handler
