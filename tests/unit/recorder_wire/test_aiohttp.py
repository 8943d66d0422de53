"""aiohttp's own ways to send and to read: the same in replay as while recording, each chunk by itself."""

from __future__ import annotations

import asyncio
import io
import json
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.unit.recorder_wire.conftest import Bench, LoopbackProvider, Wire
from tests.unit.recorder_wire.aiohttp_twice import EVENTS, SSE, aiohttp, twice


def _stream(wire: Wire) -> None:
    wire.head(content_type=SSE)
    for piece in EVENTS:
        wire.chunk(piece)
        wire.taken()
    wire.end()


async def _lines(content: Any) -> list[bytes]:
    lines = []
    while line := await content.readline():
        lines.append(line)
    return lines


async def _exactly(content: Any) -> list[Any]:
    first = await content.readexactly(5)
    return [first, await content.readuntil(b"}"), await content.read(3), await content.read(), content.at_eof()]


async def _listed(iterator: AsyncIterator[Any]) -> list[Any]:
    return [item async for item in iterator]


async def _after_read(response: Any) -> Any:
    return [await response.read(), await response.text(), response.closed]


_READERS: dict[str, Callable[[Any], Awaitable[Any]]] = {
    "iter_any": lambda response: _listed(response.content.iter_any()),
    "iter_chunks": lambda response: _listed(response.content.iter_chunks()),
    "iter_chunked small": lambda response: _listed(response.content.iter_chunked(7)),
    "iter_chunked large": lambda response: _listed(response.content.iter_chunked(1024)),
    "iterate": lambda response: _listed(response.content),
    "readline": lambda response: _lines(response.content),
    "exactly": lambda response: _exactly(response.content),
    "content.read": lambda response: response.content.read(),
    "read": lambda response: response.read(),
    "text": lambda response: response.text(),
    "text after read": _after_read,
}


@pytest.mark.parametrize("reader", _READERS)
def test_every_way_to_read_gives_the_same_in_replay(bench: Bench, provider: LoopbackProvider, reader: str) -> None:
    provider.script = _stream

    async def use(session: Any) -> Any:
        async with session.post(f"{provider.url}/answers", data=b"ask") as response:
            return await _READERS[reader](response)

    recorded, replayed = twice(bench, use)
    assert recorded == replayed
    if reader in ("iter_any", "iter_chunked large"):
        assert replayed == list(EVENTS)
    if reader == "iter_chunks":
        assert replayed == [(piece, True) for piece in EVENTS]


def test_json_and_headers_are_the_same_in_replay(bench: Bench, provider: LoopbackProvider) -> None:
    provider.script = lambda wire: wire.json({"id": "cmpl-1", "object": "chat.completion", "created": 4})

    async def use(session: Any) -> Any:
        async with session.post(f"{provider.url}/answers", json={"model": "m"}) as response:
            said = await response.json()
            return said, response.status, response.reason, response.content_type, response.ok, str(response.url)

    recorded, replayed = twice(bench, use)
    assert recorded == replayed
    assert recorded[0]["id"].startswith("rec-")


@pytest.mark.parametrize("undoes", [True, False])
def test_a_compressed_answer_is_read_whoever_decompresses(
    bench: Bench, provider: LoopbackProvider, undoes: bool
) -> None:
    import gzip

    raw = json.dumps({"text": "long " * 50}).encode()
    provider.script = lambda wire: wire.whole(gzip.compress(raw), 200, "application/json", content_encoding="gzip")

    async def use(session: Any) -> Any:
        async with session.post(f"{provider.url}/answers", data=b"ask") as response:
            return await response.json(), "Content-Encoding" in response.headers

    recorded, replayed = twice(bench, use, auto_decompress=undoes)
    assert recorded == replayed == (json.loads(raw), False)
    (kept,) = bench.recordings()
    assert kept["response"]["body"] == {"json": json.loads(raw)}


async def _generated() -> AsyncIterator[bytes]:
    yield b"one "
    await asyncio.sleep(0)
    yield b"two"


def _form(**fields: Any) -> Any:
    form = aiohttp.FormData()
    for name, value in fields.items():
        form.add_field(name, value)
    return form


def _upload() -> Any:
    form = _form(purpose="vision")
    form.add_field("file", io.BytesIO(b"\x89PNG" + bytes(range(256))), filename="a.png", content_type="image/png")
    return form


_BODIES: dict[str, tuple[Callable[[], dict[str, Any]], str]] = {
    "json": (lambda: {"json": {"b": 1, "a": "é"}}, "json"),
    "bytes": (lambda: {"data": b"\x00\x01"}, "sha256"),
    "text": (lambda: {"data": "plain words"}, "sha256"),
    "large": (lambda: {"data": io.BytesIO(b"x" * 3_000_000)}, "sha256"),
    "fields": (lambda: {"data": {"a": "1", "b": "two words"}}, "form"),
    "form": (lambda: {"data": _form(a="1", b="2")}, "form"),
    "upload": (lambda: {"data": _upload()}, "multipart"),
    "generator": (lambda: {"data": _generated()}, "sha256"),
}


@pytest.mark.parametrize("name", _BODIES)
def test_every_kind_of_request_body_reaches_the_provider_and_matches(
    bench: Bench, provider: LoopbackProvider, name: str
) -> None:
    make, kept_as = _BODIES[name]

    async def use(session: Any) -> Any:
        async with session.post(f"{provider.url}/answers", **make()) as response:
            return response.status, await response.json()

    recorded, replayed = twice(bench, use)
    assert recorded == replayed == (200, {"ok": True})
    (kept,) = bench.recordings()
    assert kept_as in kept["request"]["body"]
    (asked,) = provider.asked
    if name == "generator":
        assert asked.body == b"one two"
    if name == "upload":
        assert bytes(range(256)) in asked.body
    if name == "large":
        assert len(asked.body) == 3_000_000


def test_redirects_are_followed_by_aiohttp_and_each_is_recorded(bench: Bench, provider: LoopbackProvider) -> None:
    def script(wire: Wire) -> None:
        if wire.asked.path.endswith("/old"):
            wire.head(307, "text/plain", location=f"{provider.url}/new")
            wire.taken()  # nobody reads this body, and it is whole all the same
            wire.chunk(b"over there")
            wire.end()
        else:
            wire.json({"got": wire.asked.body.decode()})

    provider.script = script

    async def use(session: Any) -> Any:
        async with session.post(f"{provider.url}/old", data=b"ask") as response:
            return await response.json(), [step.status for step in response.history], str(response.url)

    recorded, replayed = twice(bench, use)
    assert recorded == replayed == ({"got": "ask"}, [307], f"{provider.url}/new")
    assert [kept["response"]["complete"] for kept in bench.recordings()] == [True, True]


@pytest.mark.parametrize("where", ["session", "method"])
def test_a_status_is_raised_as_aiohttp_does(bench: Bench, provider: LoopbackProvider, where: str) -> None:
    provider.script = lambda wire: wire.json({"error": "no such model"}, status=404)

    async def use(session: Any) -> Any:
        with pytest.raises(aiohttp.ClientResponseError) as caught:
            async with session.get(f"{provider.url}/models/m") as response:
                response.raise_for_status()
        return caught.value.status, caught.value.message, str(caught.value)

    recorded, replayed = twice(bench, use, raise_for_status=where == "session")
    assert recorded == replayed
    assert recorded[:2] == (404, "Not Found")


@pytest.mark.parametrize("when", ["before", "within"])
def test_the_limit_for_a_whole_call_replays_at_once(bench: Bench, provider: LoopbackProvider, when: str) -> None:
    over = threading.Event()

    def script(wire: Wire) -> None:
        if when == "within":
            wire.head(content_type=SSE)
            wire.chunk(EVENTS[0])
        over.wait(60)

    provider.script = script

    async def use(session: Any, total: float) -> Any:
        read: list[bytes] = []
        limit = aiohttp.ClientTimeout(total=total)

        async def listen() -> None:
            async with session.post(f"{provider.url}/answers", data=b"ask", timeout=limit) as response:
                while piece := await response.content.readany():
                    read.append(piece)

        with pytest.raises(TimeoutError) as caught:
            await listen()
        over.set()
        return type(caught.value), read

    limits = iter((2.0, 60.0))
    began = time.monotonic()
    recorded, replayed = twice(bench, lambda session: use(session, next(limits)))
    assert recorded == replayed == (TimeoutError, [EVENTS[0]] if when == "within" else [])
    assert time.monotonic() - began < 60
    (kept,) = bench.recordings()
    assert kept["response"]["exception"]["kind"] == "TotalTimeout"
