"""One URL in front of several llama.cpp servers: a reverse proxy that picks the server by the `model` of the request.

llama.cpp's own router would show file paths in its model list and rewrites names like `smollm2:135m`, so this stands
in its place. It passes bytes, not messages: status, headers, chunk edges and the moment of each write are the
upstream's. A connection carries one exchange. What is the front's own (still loading, an unknown model) is labelled
`server: stackproof-llama-cpp-front`; a server that dies or falls silent is shown as what it is, a broken connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
import struct
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from http_message import MAX_HEAD, BodyTooLargeError, Head, MessageError, json_answer, read_body, read_head

SERVER = "stackproof-llama-cpp-front"
_FOR = re.compile(rb"^(\S+ )/for/[^/\s]+(?=/)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Deadlines:
    """Seconds that each wait may take."""

    request: float = 60.0  # from accepting a connection to the end of its request
    connect: float = 5.0
    silence: float = 600.0  # between two reads from an upstream: requests queue for its only slot
    write: float = 60.0  # for the caller to take what was sent


@dataclass(frozen=True, kw_only=True, slots=True)
class Upstreams:
    """Ports on 127.0.0.1 by model alias, and the alias that answers whatever names no model."""

    ports: Mapping[str, int]
    default: str


@dataclass(frozen=True, slots=True)
class Forward:
    """Pass the exchange on to the server of this alias."""

    alias: str


@dataclass(frozen=True, slots=True)
class Health:
    """Ask every server; the first that is not well answers, else the default one."""


@dataclass(frozen=True, slots=True)
class Models:
    """Join the model lists of all servers."""


@dataclass(frozen=True, slots=True)
class UnknownModel:
    """No server has this model."""

    name: str


Route = Forward | Health | Models | UnknownModel


def route(method: str, path: str, body: bytes, upstreams: Upstreams) -> Route:
    """Where a request goes. What names no model, or is no JSON object, goes to the default server, which judges it."""
    if method == "GET" and path in {"/health", "/v1/health"}:
        return Health()
    if method == "GET" and path in {"/models", "/v1/models"}:
        return Models()
    try:
        value = json.loads(body) if body else None
    except (ValueError, RecursionError):
        value = None
    model = value.get("model") if isinstance(value, dict) else None
    if not isinstance(model, str):
        return Forward(upstreams.default)
    return Forward(model) if model in upstreams.ports else UnknownModel(model)


class Front:
    """The connection handler. It answers 503 until `upstreams` is set."""

    def __init__(self, *, api_key: str | None = None, deadlines: Deadlines | None = None) -> None:
        self.upstreams: Upstreams | None = None
        self._api_key = api_key
        self._deadlines = deadlines or Deadlines()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve the one exchange of a connection. Raises nothing: nobody awaits it."""
        try:
            await self._exchange(reader, writer)
        except BodyTooLargeError as error:
            writer.write(json_answer("413 Content Too Large", _error(str(error)), server=SERVER))
        except (MessageError, OSError, TimeoutError):
            # A proxy that invents an answer here would hide that the server broke.
            _break(writer)
        except asyncio.CancelledError:
            # The service stops. Raised on, this would be logged as a fault by Python 3.11 and 3.12.
            _break(writer)
        finally:
            writer.close()
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(self._deadlines.write):
                    await writer.wait_closed()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(self._deadlines.request):
            head = await read_head(reader)
            if head is None:
                return
            if "100-continue" in (head.get("expect") or "").lower():
                writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            body = await read_body(reader, head)
        # Below the name of a provider it stands in for that one, whose models it has not: it answers for any.
        called, head = head, replace(head, start=_FOR.sub(rb"\1", head.start))
        stands_in = head.start != called.start
        upstreams = self.upstreams
        if upstreams is None:
            # The words of llama.cpp for the same state.
            error = {"message": "Loading model", "type": "unavailable_error", "code": 503}
            writer.write(json_answer("503 Service Unavailable", {"error": error}, server=SERVER))
            return
        request = _request(head, body)
        # Whoever has gone away must not keep the only slot busy.
        work = asyncio.ensure_future(self._answer(head, body, request, upstreams, writer, stands_in=stands_in))
        gone = asyncio.ensure_future(_closed(reader))
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                await work
        finally:
            for task in (work, gone):
                task.cancel()
            await asyncio.gather(work, gone, return_exceptions=True)

    async def _answer(
        self,
        head: Head,
        body: bytes,
        request: bytes,
        upstreams: Upstreams,
        writer: asyncio.StreamWriter,
        *,
        stands_in: bool,
    ) -> None:
        where = route(head.method, head.path, body, upstreams)
        match where:
            case Forward(alias):
                await self._relay(upstreams.ports[alias], request, writer)
            case UnknownModel(name):
                if stands_in or not self._is_authorized(head):
                    await self._relay(upstreams.ports[upstreams.default], request, writer)
                    return
                # llama.cpp with one model answers for any name; this is how Ollama refuses.
                writer.write(json_answer("404 Not Found", _unknown(name), server=SERVER))
            case Health():
                answers = [await self._fetch(port, request) for port in _ports(upstreams)]
                answer, raw = next((pair for pair in answers if pair[0].status != 200), answers[0])
                writer.write(_complete(answer, raw))
            case Models():
                answers = [await self._fetch(port, request) for port in _ports(upstreams)]
                failed = next((pair for pair in answers if pair[0].status != 200), None)
                answer, raw = failed or (answers[0][0], _joined([raw for _, raw in answers]))
                writer.write(_complete(answer, raw))
            case _:
                assert_never(where)
        await self._drain(writer)

    async def _relay(self, port: int, request: bytes, writer: asyncio.StreamWriter) -> None:
        async with self._connection(port, request) as upstream:
            async with asyncio.timeout(self._deadlines.silence):
                answer = await read_head(upstream)
            if answer is None:
                raise MessageError("the server closed without an answer")
            writer.write(answer.for_one_exchange().encode())
            await self._drain(writer)
            while True:
                async with asyncio.timeout(self._deadlines.silence):
                    piece = await upstream.read(MAX_HEAD)
                if not piece:
                    return
                writer.write(piece)
                await self._drain(writer)

    async def _fetch(self, port: int, request: bytes) -> tuple[Head, bytes]:
        async with self._connection(port, request) as upstream, asyncio.timeout(self._deadlines.silence):
            answer = await read_head(upstream)
            if answer is None:
                raise MessageError("the server closed without an answer")
            return answer, await read_body(upstream, answer, is_answer=True)

    @contextlib.asynccontextmanager
    async def _connection(self, port: int, request: bytes) -> AsyncIterator[asyncio.StreamReader]:
        async with asyncio.timeout(self._deadlines.connect):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=MAX_HEAD)
        try:
            writer.write(request)
            await self._drain(writer)
            yield reader
        finally:
            writer.transport.abort()  # at once: the server stops generating when its reader is gone

    async def _drain(self, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(self._deadlines.write):
            await writer.drain()

    def _is_authorized(self, head: Head) -> bool:
        given = (head.get("authorization") or "").removeprefix("Bearer "), head.get("x-api-key")
        return self._api_key is None or self._api_key in given


async def _closed(reader: asyncio.StreamReader) -> None:
    with contextlib.suppress(OSError):
        while await reader.read(MAX_HEAD):
            pass  # a second request on this connection was told `Connection: close`


def _break(writer: asyncio.StreamWriter) -> None:
    """Reset the connection: a plain close would make a body without a declared length look complete."""
    with contextlib.suppress(OSError):
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def _ports(upstreams: Upstreams) -> list[int]:
    others = [port for alias, port in upstreams.ports.items() if alias != upstreams.default]
    return [upstreams.ports[upstreams.default], *others]


def _request(head: Head, body: bytes) -> bytes:
    """The bytes for the upstream: the body was read whole, so its length is known."""
    onward = head.for_one_exchange().without("expect")
    if head.get("transfer-encoding") is not None:
        onward = onward.without("transfer-encoding", "content-length").with_line(f"Content-Length: {len(body)}")
    return onward.encode() + body


def _complete(answer: Head, body: bytes) -> bytes:
    framed = answer.for_one_exchange().without("transfer-encoding", "content-length")
    return framed.with_line(f"Content-Length: {len(body)}").encode() + body


def _joined(bodies: list[bytes]) -> bytes:
    lists = [json.loads(body) for body in bodies]
    whole = dict(lists[0])
    for key in ("models", "data"):
        whole[key] = [entry for one in lists for entry in one.get(key, [])]
    return json.dumps(whole, separators=(",", ":"), ensure_ascii=False).encode()


def _error(message: str) -> dict[str, object]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}


def _unknown(name: str) -> dict[str, object]:
    message = f'model "{name}" not found, try pulling it first'
    return {"error": {"message": message, "type": "api_error", "param": None, "code": None}}
