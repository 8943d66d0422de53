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

from stackproof.recorder import scope

if TYPE_CHECKING:
    from tests.unit.recorder_wire.conftest import Bench, LoopbackProvider, Wire

aiohttp: Any = pytest.importorskip("aiohttp", reason="aiohttp is not installed")
_SSE = "text/event-stream"
_EVENTS = (b'data: {"n":0}\n\n', b'data: {"n":1}\n\ndata: {"n":2}\n\n', b"data: [DONE]\n\n")


def _stream(wire: Wire) -> None:
    wire.head(content_type=_SSE)
    for piece in _EVENTS:
        wire.chunk(piece)
        time.sleep(0.02)
    wire.end()


def _twice(bench: Bench, use: Callable[[Any], Awaitable[Any]], **session: Any) -> list[Any]:
    """What `use` gives for a session, recorded and then replayed."""

    async def main() -> Any:
        async with aiohttp.ClientSession(**session) as client:
            return await use(client)

    got = []
    for run in (bench.record, bench.replay):
        with run(record_errors=True):
            got.append(asyncio.run(main()))
    return got


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

    recorded, replayed = _twice(bench, use)
    assert recorded == replayed
    if reader in ("iter_any", "iter_chunked large"):
        assert replayed == list(_EVENTS)
    if reader == "iter_chunks":
        assert replayed == [(piece, True) for piece in _EVENTS]


def test_json_and_headers_are_the_same_in_replay(bench: Bench, provider: LoopbackProvider) -> None:
    provider.script = lambda wire: wire.json({"id": "cmpl-1", "object": "chat.completion", "created": 4})

    async def use(session: Any) -> Any:
        async with session.post(f"{provider.url}/answers", json={"model": "m"}) as response:
            said = await response.json()
            return said, response.status, response.reason, response.content_type, response.ok, str(response.url)

    recorded, replayed = _twice(bench, use)
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

    recorded, replayed = _twice(bench, use, auto_decompress=undoes)
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

    recorded, replayed = _twice(bench, use)
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
            time.sleep(0.05)  # nobody reads this body, and it is whole all the same
            wire.chunk(b"over there")
            wire.end()
        else:
            wire.json({"got": wire.asked.body.decode()})

    provider.script = script

    async def use(session: Any) -> Any:
        async with session.post(f"{provider.url}/old", data=b"ask") as response:
            return await response.json(), [step.status for step in response.history], str(response.url)

    recorded, replayed = _twice(bench, use)
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

    recorded, replayed = _twice(bench, use, raise_for_status=where == "session")
    assert recorded == replayed
    assert recorded[:2] == (404, "Not Found")


@pytest.mark.parametrize("when", ["before", "within"])
def test_the_limit_for_a_whole_call_replays_at_once(bench: Bench, provider: LoopbackProvider, when: str) -> None:
    over = threading.Event()

    def script(wire: Wire) -> None:
        if when == "within":
            wire.head(content_type=_SSE)
            wire.chunk(_EVENTS[0])
        over.wait(5)

    provider.script = script

    async def use(session: Any) -> Any:
        read: list[bytes] = []

        async def listen() -> None:
            async with session.post(f"{provider.url}/answers", data=b"ask") as response:
                while piece := await response.content.readany():
                    read.append(piece)

        began = time.monotonic()
        with pytest.raises(TimeoutError) as caught:
            await listen()
        over.set()
        return type(caught.value), read, time.monotonic() - began

    recorded, replayed = _twice(bench, use, timeout=aiohttp.ClientTimeout(total=0.3))
    assert recorded[:2] == replayed[:2] == (TimeoutError, [_EVENTS[0]] if when == "within" else [])
    assert replayed[2] < 0.2
    (kept,) = bench.recordings()
    assert kept["response"]["exception"]["kind"] == "TotalTimeout"


def test_middlewares_of_the_session_stay_around_ours(bench: Bench, provider: LoopbackProvider) -> None:
    seen = []

    async def signed(request: Any, handler: Any) -> Any:
        request.headers["X-Signed"] = "yes"
        response = await handler(request)
        seen.append(response.status)
        return response

    async def use(session: Any) -> Any:
        async with session.get(f"{provider.url}/x") as first, session.get(f"{provider.url}/y", middlewares=()) as other:
            return await first.json(), await other.json()

    recorded, replayed = _twice(bench, use, middlewares=(signed,))
    assert recorded == replayed
    assert seen == [200, 200]
    assert ["x-signed" in asked.headers for asked in provider.asked] == [True, False]


def test_a_read_that_was_given_up_can_be_taken_up_again(bench: Bench, provider: LoopbackProvider) -> None:
    def script(wire: Wire) -> None:
        wire.head(content_type=_SSE)
        wire.chunk(_EVENTS[0])
        time.sleep(0.3)
        wire.chunk(_EVENTS[1])
        wire.end()

    provider.script = script

    async def use(session: Any) -> Any:
        read = []
        async with session.post(f"{provider.url}/answers", data=b"ask") as response:
            while not response.content.at_eof():
                try:
                    read.append(await asyncio.wait_for(response.content.readany(), 0.1))
                except TimeoutError:
                    continue
        return b"".join(read)

    recorded, replayed = _twice(bench, use)
    assert recorded == replayed == _EVENTS[0] + _EVENTS[1]
    (kept,) = bench.recordings()
    assert kept["response"]["complete"] is True


def test_a_read_that_was_given_up_loses_no_chunk_at_the_recorded_pace(bench: Bench, provider: LoopbackProvider) -> None:
    def script(wire: Wire) -> None:
        wire.head(content_type=_SSE)
        wire.chunk(_EVENTS[0])
        time.sleep(0.3)
        wire.chunk(_EVENTS[1])
        wire.end()

    provider.script = script

    async def main() -> tuple[bytes, int]:
        read, given_up = b"", 0
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{provider.url}/answers", data=b"ask") as response,
        ):
            while not response.content.at_eof():
                try:
                    read += await asyncio.wait_for(response.content.readany(), 0.1)
                except TimeoutError:
                    given_up += 1
        return read, given_up

    for run in (bench.record(), bench.replay(pace=1.0)):
        with run:
            read, given_up = asyncio.run(main())
        assert read == _EVENTS[0] + _EVENTS[1]
        assert given_up >= 1


@pytest.mark.parametrize("how", ["release", "close", "leave the block"])
def test_an_answer_that_is_given_back_unread_replays(bench: Bench, provider: LoopbackProvider, how: str) -> None:
    def script(wire: Wire) -> None:
        wire.head(content_type=_SSE)
        for number in range(100):
            wire.chunk(b'data: {"n":%d}\n\n' % number)
            time.sleep(0.005)
        wire.end()

    provider.script = script

    async def use(session: Any) -> Any:
        async with session.post(f"{provider.url}/answers", data=b"ask") as response:
            first = await response.content.readany()
            if how != "leave the block":
                getattr(response, how)()
                with pytest.raises(aiohttp.ClientConnectionError):
                    await response.content.readany()
            return first, response.closed

    recorded, replayed = _twice(bench, use)
    assert recorded == replayed
    assert provider.left.wait(3), "the provider is told that the caller left"
    (kept,) = bench.recordings()
    assert kept["response"]["complete"] is False


def test_an_answer_of_which_only_the_status_matters_replays(bench: Bench, provider: LoopbackProvider) -> None:
    async def use(session: Any) -> Any:
        async with session.head(f"{provider.url}/x") as head, session.get(f"{provider.url}/y") as unread:
            return head.status, await head.read(), unread.status

    def script(wire: Wire) -> None:
        if wire.asked.method == "HEAD":
            wire.bare(200)
        else:
            wire.json({"ok": True})

    provider.script = script
    recorded, replayed = _twice(bench, use)
    assert recorded == replayed == (200, b"", 200)


def test_an_answer_that_is_never_read_to_its_end_is_settled_with_its_test(
    bench: Bench, provider: LoopbackProvider
) -> None:
    def script(wire: Wire) -> None:
        wire.head(content_type=_SSE)
        for number in range(200):
            wire.chunk(b'data: {"n":%d}\n\n' % number)
            time.sleep(0.005)

    provider.script = script
    with bench.record() as brain:

        async def main() -> None:
            async with aiohttp.ClientSession() as session:
                response = await session.post(f"{provider.url}/answers", data=b"ask")
                await response.content.readany()
                owner = scope.current()
                assert owner is not None
                assert brain.ledger.calls_in_flight(owner) == 1
                assert brain.settle(0.0) == 1
                assert brain.ledger.calls_in_flight(owner) == 0
                response.close()

        asyncio.run(main())
    (kept,) = bench.recordings()
    assert kept["response"]["complete"] is False


def test_calls_at_once_each_get_an_answer_of_their_own(bench: Bench, provider: LoopbackProvider) -> None:
    count = iter(range(100))
    provider.script = lambda wire: wire.json({"n": next(count)})

    async def use(session: Any) -> Any:
        async def ask() -> int:
            async with session.post(f"{provider.url}/answers", data=b"ask") as response:
                return int((await response.json())["n"])

        return sorted(await asyncio.gather(*(ask() for _ in range(8))))

    recorded, replayed = _twice(bench, use)
    assert recorded == replayed == list(range(8))


def test_a_websocket_is_not_recorded(bench: Bench, provider: LoopbackProvider) -> None:
    provider.script = lambda wire: wire.json({"error": "no websockets here"}, status=400)

    async def main() -> None:
        async with aiohttp.ClientSession() as session:
            with pytest.raises(aiohttp.WSServerHandshakeError):
                await session.ws_connect(f"{provider.url}/realtime")

    with bench.record() as brain:
        asyncio.run(main())
        calls, _ = brain.ledger.read("calls")
    assert [call["kind"] for call in calls] == ["unseen"]
    assert bench.files() == []


def test_the_id_goes_to_the_stack_and_not_where_it_redirects(bench: Bench, provider: LoopbackProvider) -> None:
    stack_url = f"http://127.0.0.1:{provider.port}/stack"

    def script(wire: Wire) -> None:
        if wire.asked.path.startswith("/stack/"):
            wire.whole(b"", 307, "text/plain", location=f"http://localhost:{provider.port}/elsewhere")
        else:
            wire.json({})

    provider.script = script

    async def main() -> None:
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{stack_url}/v1/x", json={"a": 1}) as response,
        ):
            await response.read()

    with bench.replay_passing(stack_url=stack_url):
        asyncio.run(main())
    first, second = provider.asked
    assert "__test_id" in json.loads(first.headers["x-provider-data"])
    assert first.body == second.body == b'{"a": 1}'
    assert "x-provider-data" not in second.headers
