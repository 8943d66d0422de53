"""Streams that are cancelled, forgotten, read twice or closed in the middle, and calls that are repeated."""

from __future__ import annotations

import asyncio
import gc
import itertools
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.unit.recorder_wire.conftest import Bench, LoopbackProvider, Wire

_SSE = "text/event-stream"


def _endless(wire: Wire) -> None:
    wire.head(content_type=_SSE)
    for number in itertools.count():  # until nobody listens
        wire.chunk(b'data: {"n":%d}\n\n' % number)
        time.sleep(0.01)


def test_a_cancelled_stream_settles_without_being_closed(
    bench: Bench, provider: LoopbackProvider, library: Any
) -> None:
    provider.script = _endless

    async def main() -> None:
        client = library.AsyncClient(trust_env=False)
        got_one = asyncio.Event()

        async def listen() -> None:
            request = client.build_request("POST", f"{provider.url}/answers", content=b"ask")
            response = await client.send(request, stream=True)
            async for _ in response.aiter_raw():  # nobody closes the response: SDKs do not either
                got_one.set()

        task = asyncio.create_task(listen())
        await asyncio.wait_for(got_one.wait(), 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await client.aclose()

    with bench.record() as brain:
        asyncio.run(main())
        gc.collect()
        assert brain.settle(0.0) == 0
    (kept,) = bench.recordings()
    assert kept["response"]["complete"] is False
    assert kept["response"]["events"][0] == {"data": {"n": 0}}


def test_a_caller_cancelled_before_the_answer_leaves_nothing(
    bench: Bench, provider: LoopbackProvider, library: Any
) -> None:
    came_in, over = threading.Event(), threading.Event()

    def script(wire: Wire) -> None:
        came_in.set()
        over.wait(60)

    provider.script = script

    async def main() -> None:
        async with library.AsyncClient(trust_env=False) as client:
            task = asyncio.create_task(client.post(f"{provider.url}/answers", content=b"ask"))
            assert await asyncio.to_thread(came_in.wait, 60)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    with bench.record(record_errors=True):
        asyncio.run(main())
        over.set()
    assert bench.files() == []


def test_an_answer_that_nobody_reads_settles_when_it_is_forgotten(
    bench: Bench, provider: LoopbackProvider, library: Any
) -> None:
    provider.script = _endless
    with bench.record() as brain:
        client = library.Client(trust_env=False)
        response = client.send(client.build_request("POST", f"{provider.url}/answers", content=b"ask"), stream=True)
        assert brain.ledger.calls_in_flight(_owner()) == 1
        del response
        gc.collect()
        assert brain.ledger.calls_in_flight(_owner()) == 0
        client.close()


def test_an_answer_that_is_held_but_never_read_is_settled_with_its_test(
    bench: Bench, provider: LoopbackProvider, library: Any
) -> None:
    provider.script = _endless
    with bench.record() as brain:
        client = library.Client(trust_env=False)
        response = client.send(client.build_request("POST", f"{provider.url}/answers", content=b"ask"), stream=True)
        assert brain.settle(0.0) == 1
        assert brain.ledger.calls_in_flight(_owner()) == 0
        response.close()
        client.close()


def _owner() -> Any:
    from stackproof.recorder import scope

    return scope.current()


def test_a_stream_is_kept_as_complete_when_its_reader_stops_at_the_terminal_event(
    bench: Bench, provider: LoopbackProvider, library: Any
) -> None:
    over = threading.Event()

    def script(wire: Wire) -> None:
        wire.head(content_type=_SSE)
        wire.chunk(b'data: {"n":0}\n\ndata: [DONE]\n\n')
        over.wait(60)  # the body never ends

    provider.script = script
    with bench.record(), library.Client(trust_env=False) as client:
        with client.stream("POST", f"{provider.url}/answers", content=b"ask") as response:
            for line in response.iter_lines():
                if line == "data: [DONE]":
                    break
        over.set()
    with bench.replay() as brain, library.Client(trust_env=False) as client:
        with client.stream("POST", f"{provider.url}/answers", content=b"ask") as response:
            lines = list(response.iter_lines())
        misses, _ = brain.ledger.read("misses")
    assert lines == ['data: {"n":0}', "", "data: [DONE]", ""]
    assert misses == []


def test_reading_a_response_twice_gives_the_same_body(bench: Bench, provider: LoopbackProvider, library: Any) -> None:
    for run in (bench.record, bench.replay):
        with run(), library.Client(trust_env=False) as client:
            response = client.post(f"{provider.url}/answers", content=b"ask")
            assert response.read() == response.read() == response.content == b'{"ok":true}'


def test_lines_are_read_alike_by_both_colours_from_one_file(
    bench: Bench, provider: LoopbackProvider, library: Any
) -> None:
    raw = b": ping\n\ndata: 1\n\ndata: two words\n\ndata: last"
    provider.script = lambda wire: wire.whole(raw, 200, _SSE)

    def sync() -> list[str]:
        with (
            library.Client(trust_env=False) as client,
            client.stream("POST", f"{provider.url}/answers", content=b"ask") as response,
        ):
            return list(response.iter_lines())

    async def asynchronous() -> list[str]:
        async with (
            library.AsyncClient(trust_env=False) as client,
            client.stream("POST", f"{provider.url}/answers", content=b"ask") as response,
        ):
            return [line async for line in response.aiter_lines()]

    with bench.record():
        recorded = asyncio.run(asynchronous())
    with bench.replay():
        replayed = sync()
    with bench.replay():
        again = asyncio.run(asynchronous())
    assert recorded == replayed == again == [": ping", "", "data: 1", "", "data: two words", "", "data: last"]


def test_the_callers_own_retry_is_answered_by_the_answer_that_was_kept(
    bench: Bench, provider: LoopbackProvider, library: Any
) -> None:
    def script(wire: Wire) -> None:
        if len(provider.asked) == 1:
            wire.json({"error": "busy"}, status=503)
        else:
            wire.json({"ok": True})

    provider.script = script

    def ask() -> list[int]:
        seen: list[int] = []
        with library.Client(trust_env=False) as client:
            while not seen or seen[-1] != 200:
                seen.append(client.post(f"{provider.url}/answers", content=b"ask").status_code)
                assert len(seen) < 4
        return seen

    with bench.record():
        assert ask() == [503, 200]
    assert [path.name.count("-") for path in bench.files()] == [1], "the gap of the answer that was not kept is closed"
    with bench.replay():
        assert ask() == [200]


def test_equal_requests_get_their_answers_in_turn_and_a_third_is_told_that_there_were_two(
    bench: Bench, provider: LoopbackProvider, library: Any
) -> None:
    provider.script = lambda wire: wire.json({"status": ["in_progress", "completed"][len(provider.asked) - 1]})

    def poll(client: Any) -> Any:
        return client.get(f"{provider.url}/batches/7").json()

    with bench.record(), library.Client(trust_env=False) as client:
        assert [poll(client)["status"] for _ in range(2)] == ["in_progress", "completed"]
    with bench.replay() as brain, library.Client(trust_env=False) as client:
        assert [poll(client)["status"] for _ in range(2)] == ["in_progress", "completed"]
        assert "recorded 2, asked for number 3" in poll(client)["message"]
        assert [miss["kind"] for miss in brain.ledger.read("misses")[0]] == ["exhausted"]


def test_threads_that_ask_at_once_never_share_an_answer(bench: Bench, provider: LoopbackProvider, library: Any) -> None:
    from concurrent.futures import ThreadPoolExecutor

    count = iter(range(100))
    provider.script = lambda wire: wire.json({"n": next(count)})

    def ask(_: int) -> int:
        with library.Client(trust_env=False) as client:
            return int(client.post(f"{provider.url}/answers", content=b"ask").json()["n"])

    for run in (bench.record, bench.replay):
        with run(), ThreadPoolExecutor(8) as pool:
            assert sorted(pool.map(ask, range(8))) == list(range(8))
