"""Waits of SDKs and retry libraries: none after a replayed answer, the whole of it after any other."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
import openai
import pytest

from stackproof.recorder.scope import Scope

tenacity = pytest.importorskip("tenacity", reason="tenacity is not installed")

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.recorder_wire.conftest import Bench, LoopbackProvider, Wire

_SECONDS = 20.0  # what a wait would take in replay


def _file(wire: Wire, states: list[str]) -> None:
    wire.json({"id": "file-1", "object": "vector_store.file", "status": states.pop(0), "vector_store_id": "vs_1"})


def _poll_sync(url: str, interval: int) -> list[Any]:
    with openai.OpenAI(base_url=url, api_key="a-key") as client:
        files = client.vector_stores.files
        ended = files.create_and_poll(vector_store_id="vs_1", file_id="file-1", poll_interval_ms=interval)
    return [ended.status]


def _poll_async(url: str, interval: int) -> list[Any]:
    async def main() -> str:
        async with openai.AsyncOpenAI(base_url=url, api_key="a-key") as client:
            files = client.vector_stores.files
            ended = await files.create_and_poll(vector_store_id="vs_1", file_id="file-1", poll_interval_ms=interval)
        return str(ended.status)

    return [asyncio.run(main())]


@pytest.mark.parametrize("poll", [_poll_sync, _poll_async])
def test_a_poll_of_an_sdk_does_not_wait_in_replay(
    bench: Bench, provider: LoopbackProvider, poll: Callable[[str, int], list[Any]]
) -> None:
    states = ["in_progress", "in_progress", "in_progress", "completed"]
    provider.script = lambda wire: _file(wire, states)
    with bench.record():
        assert poll(provider.url, 20) == ["completed"]
    with bench.replay():
        began = time.monotonic()
        assert poll(provider.url, int(_SECONDS * 1000)) == ["completed"]
        assert time.monotonic() - began < _SECONDS
    assert states == []


class _NotYetError(Exception):
    pass


def _patient(seconds: float, attempts: int) -> dict[str, Any]:
    return {"wait": tenacity.wait_fixed(seconds), "stop": tenacity.stop_after_attempt(attempts), "reraise": True}


async def _retrying(retrying: Any, url: str) -> int:
    async def ask() -> int:
        async with httpx2.AsyncClient(trust_env=False) as client:
            answer = await client.post(f"{url}/answers", content=b"ask")
        if answer.status_code != 200:
            raise _NotYetError
        return int(answer.json()["n"])

    return int(await retrying(ask))


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("made", ["before", "within"])
def test_an_async_retry_of_tenacity_does_not_wait_in_replay(
    bench: Bench, provider: LoopbackProvider, backend: str, made: str
) -> None:
    provider.script = lambda wire: wire.json({"n": len(provider.asked)}, 503 if len(provider.asked) < 3 else 200)
    early = tenacity.AsyncRetrying(**_patient(_SECONDS, 3))
    with bench.record(record_errors=True):
        brief = tenacity.AsyncRetrying(**_patient(0.01, 3))
        assert anyio.run(_retrying, brief, provider.url, backend=backend) == 3
    with bench.replay():
        began = time.monotonic()
        retrying = early if made == "before" else tenacity.AsyncRetrying(**_patient(_SECONDS, 3))
        assert anyio.run(_retrying, retrying, provider.url, backend=backend) == 3
        assert time.monotonic() - began < _SECONDS


@pytest.mark.parametrize("which", ["async", "sync"])
def test_a_retry_of_something_else_waits_as_it_always_did(bench: Bench, provider: LoopbackProvider, which: str) -> None:
    def fail() -> None:
        raise _NotYetError

    async def fail_async() -> None:
        raise _NotYetError

    async def retry_async() -> None:
        await tenacity.AsyncRetrying(**_patient(0.2, 2))(fail_async)

    with bench.replay(), httpx2.Client(trust_env=False) as client:
        client.get(f"{provider.url}/files")  # what this thread heard last, in another test
    with bench.replay(owner=Scope(name="tests/integration/probe/test_it.py::test_other")):
        began = time.monotonic()
        with pytest.raises(_NotYetError):
            asyncio.run(retry_async()) if which == "async" else tenacity.Retrying(**_patient(0.2, 2))(fail)
        assert time.monotonic() - began >= 0.2


def test_other_tasks_get_their_turn_where_a_wait_is_left_out(bench: Bench, provider: LoopbackProvider) -> None:
    provider.script = lambda wire: wire.json({"n": 1}, 503 if len(provider.asked) < 3 else 200)
    with bench.record(record_errors=True):
        asyncio.run(_retrying(tenacity.AsyncRetrying(**_patient(0.01, 3)), provider.url))

    async def main() -> int:
        turns = 0

        async def other() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        task = asyncio.create_task(other())
        await _retrying(tenacity.AsyncRetrying(**_patient(_SECONDS, 3)), provider.url)
        task.cancel()
        return turns

    with bench.replay():
        assert asyncio.run(main()) >= 2


def test_the_function_that_waits_is_its_own_again(bench: Bench) -> None:
    module = tenacity.asyncio
    code = module._portable_async_sleep.__code__
    with bench.replay(), bench.replay():
        assert module._portable_async_sleep.__code__ is not code
    assert module._portable_async_sleep.__code__ is code
    assert not hasattr(module, "__stackproof_sleep__")
