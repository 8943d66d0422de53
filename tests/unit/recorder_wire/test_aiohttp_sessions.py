"""What sessions of aiohttp do around a call."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from stackproof.recorder import scope

if TYPE_CHECKING:
    from tests.unit.recorder_wire.conftest import Bench, LoopbackProvider, Wire
from tests.unit.recorder_wire.aiohttp_twice import EVENTS, SSE, aiohttp, twice


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

    recorded, replayed = twice(bench, use, middlewares=(signed,))
    assert recorded == replayed
    assert seen == [200, 200]
    assert ["x-signed" in asked.headers for asked in provider.asked] == [True, False]


def test_a_read_that_was_given_up_can_be_taken_up_again(bench: Bench, provider: LoopbackProvider) -> None:
    def script(wire: Wire) -> None:
        wire.head(content_type=SSE)
        wire.chunk(EVENTS[0])
        time.sleep(0.3)
        wire.chunk(EVENTS[1])
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

    recorded, replayed = twice(bench, use)
    assert recorded == replayed == EVENTS[0] + EVENTS[1]
    (kept,) = bench.recordings()
    assert kept["response"]["complete"] is True


def test_a_read_that_was_given_up_loses_no_chunk_at_the_recorded_pace(bench: Bench, provider: LoopbackProvider) -> None:
    def script(wire: Wire) -> None:
        wire.head(content_type=SSE)
        wire.chunk(EVENTS[0])
        gave_up.wait(60)
        wire.chunk(EVENTS[1])
        wire.end()

    provider.script = script
    gave_up = threading.Event()

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
                    gave_up.set()
        return read, given_up

    for run in (bench.record(), bench.replay(pace=5.0)):
        with run:
            read, given_up = asyncio.run(main())
        assert read == EVENTS[0] + EVENTS[1]
        assert given_up >= 1


@pytest.mark.parametrize("how", ["release", "close", "leave the block"])
def test_an_answer_that_is_given_back_unread_replays(bench: Bench, provider: LoopbackProvider, how: str) -> None:
    def script(wire: Wire) -> None:
        wire.head(content_type=SSE)
        for number in itertools.count():  # until nobody listens
            wire.chunk(b'data: {"n":%d}\n\n' % number)
            wire.taken()

    provider.script = script

    async def use(session: Any) -> Any:
        async with session.post(f"{provider.url}/answers", data=b"ask") as response:
            first = await response.content.readany()
            if how != "leave the block":
                getattr(response, how)()
                with pytest.raises(aiohttp.ClientConnectionError):
                    await response.content.readany()
            return first, response.closed

    recorded, replayed = twice(bench, use)
    assert recorded == replayed
    assert provider.left.wait(60), "the provider is told that the caller left"
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
    recorded, replayed = twice(bench, use)
    assert recorded == replayed == (200, b"", 200)


def test_an_answer_that_is_never_read_to_its_end_is_settled_with_its_test(
    bench: Bench, provider: LoopbackProvider
) -> None:
    def script(wire: Wire) -> None:
        wire.head(content_type=SSE)
        for number in itertools.count():  # until nobody listens
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

    recorded, replayed = twice(bench, use)
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
