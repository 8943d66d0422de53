"""Calls that go out, through the real libraries: what is observed, what is tried again, and what must never leave."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import anthropic
import httpx
import httpx2
import openai
import pytest
import urllib3

from stackproof.recorder.mode import Mode

if TYPE_CHECKING:
    from tests.unit.recorder_wire.conftest import Bench, LoopbackProvider, Wire

    from stackproof.recorder.brain import Brain

_KEY = "a-key"
_ASK: Any = [{"role": "user", "content": "Hi"}]
_CHAT = {
    "id": "chatcmpl-real",
    "object": "chat.completion",
    "created": 1700000000,
    "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hello."}}],
    "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
}
_CHUNK = {**_CHAT, "object": "chat.completion.chunk", "usage": None}
_MESSAGE: dict[str, Any] = {
    "id": "msg_real",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [],
    "stop_reason": None,
}


def lines(brain: Brain, *kinds: str) -> list[dict[str, Any]]:
    """What became of the calls, in order; of these kinds, or all."""
    return [call for call in brain.ledger.read("calls")[0] if not kinds or call["kind"] in kinds]


def chat(wire: Wire) -> None:
    """A chat, whole or as a stream."""
    if not wire.asked.json.get("stream"):
        wire.json(_CHAT)
        return
    delta = {"index": 0, "delta": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}
    wire.events({**_CHUNK, "choices": [delta]}, {**_CHUNK, "choices": [], "usage": _CHAT["usage"]})


def message(wire: Wire) -> None:
    """A message of Anthropic's as a stream."""
    wire.head(content_type="text/event-stream")
    for event in (
        {"type": "message_start", "message": {**_MESSAGE, "usage": {"input_tokens": 25, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello."}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 15}},
        {"type": "message_stop"},
    ):
        wire.chunk(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
    wire.end()


# -- ways to ask, each once


def _openai(url: str, **more: Any) -> None:
    with openai.OpenAI(base_url=url, api_key=_KEY, **more) as client:
        assert client.chat.completions.create(model="m", messages=_ASK).choices[0].message.content == "Hello."


def _openai_stream(url: str, **more: Any) -> None:
    with openai.OpenAI(base_url=url, api_key=_KEY, **more) as client:
        told = client.chat.completions.create(
            model="m", messages=_ASK, stream=True, stream_options={"include_usage": True}
        )
        assert "".join(chunk.choices[0].delta.content or "" for chunk in told if chunk.choices) == "Hello."


def _async_openai(url: str, **more: Any) -> None:
    async def main() -> None:
        async with openai.AsyncOpenAI(base_url=url, api_key=_KEY, **more) as client:
            assert (await client.chat.completions.create(model="m", messages=_ASK)).choices

    asyncio.run(main())


def _anthropic_stream(url: str, **more: Any) -> None:
    with (
        anthropic.Anthropic(base_url=url, api_key=_KEY, **more) as client,
        client.messages.stream(model="m", messages=_ASK, max_tokens=20) as stream,
    ):
        assert "".join(stream.text_stream) == "Hello."


def _httpx(url: str) -> int:
    with httpx.Client(trust_env=False) as client:
        return client.post(url + "/chat/completions", json={"m": 1}).status_code


def _httpx2(url: str) -> int:
    with httpx2.Client(trust_env=False) as client:
        return int(client.post(url + "/chat/completions", json={"m": 1}).status_code)


def _urllib3(url: str) -> int:
    with urllib3.PoolManager(retries=False) as pool:
        return pool.request("POST", url + "/chat/completions", json={"m": 1}).status


def _aiohttp(url: str) -> int:
    async def main() -> int:
        async with aiohttp.ClientSession() as session, session.post(url + "/chat/completions", json={"m": 1}) as told:
            await told.read()
            return told.status

    return asyncio.run(main())


_SDKS = [_openai, _openai_stream, _async_openai]
_LIBRARIES = [_httpx, _httpx2, _urllib3, _aiohttp]


# -- observed


@pytest.mark.parametrize("use", _SDKS, ids=lambda use: use.__name__)
def test_every_call_goes_out_and_is_observed_with_what_it_used(
    bench: Bench, provider: LoopbackProvider, use: Any
) -> None:
    provider.script = chat
    with bench.record():
        use(provider.url)
    kept = {path: path.read_bytes() for path in bench.files()}
    with bench.run(Mode.VERIFY) as brain:
        use(provider.url)
        (call,) = lines(brain)
    assert len(provider.asked) == 2
    assert (call["kind"], call["status"], call["tokens"]) == ("observed", 200, {"input": 7, "output": 3})
    assert Path(call["file"]).name == next(iter(kept)).name
    assert {path: path.read_bytes() for path in bench.files()} == kept


def test_a_stream_of_messages_tells_its_tokens_in_two_events(bench: Bench, provider: LoopbackProvider) -> None:
    provider.script = message
    with bench.run(Mode.VERIFY) as brain:
        _anthropic_stream(provider.url)
        (call,) = lines(brain)
        assert brain.budget.facts()["tokens"] == [40, None]
    assert call["tokens"] == {"input": 25, "output": 15}


@pytest.mark.parametrize("use", _LIBRARIES, ids=lambda use: use.__name__)
def test_a_wrong_key_is_observed_in_each_library(bench: Bench, provider: LoopbackProvider, use: Any) -> None:
    provider.script = lambda wire: wire.json({"error": {"message": "Incorrect API key provided"}}, status=401)
    with bench.run(Mode.VERIFY) as brain:
        assert use(provider.url) == 401
        (call,) = lines(brain)
    assert (call["kind"], call["status"]) == ("observed", 401)
    assert json.loads(Path(call["file"]).read_text())["response"]["status"] == 401


@pytest.mark.parametrize("use", _LIBRARIES, ids=lambda use: use.__name__)
def test_a_dying_provider_is_observed_in_each_library(bench: Bench, provider: LoopbackProvider, use: Any) -> None:
    provider.script = lambda wire: wire.reset()
    with bench.run(Mode.VERIFY) as brain:
        with pytest.raises((httpx.HTTPError, httpx2.HTTPError, urllib3.exceptions.HTTPError, aiohttp.ClientError)):
            use(provider.url)
        calls = lines(brain)
    assert {call["kind"] for call in calls} == {"observed"}
    assert all(json.loads(Path(call["file"]).read_text())["response"]["is_exception"] for call in calls)


# -- tried again


@pytest.mark.parametrize("mode", [Mode.VERIFY, Mode.RECORD])
def test_what_an_sdk_tries_again_by_itself_is_told_as_that(
    bench: Bench, provider: LoopbackProvider, mode: Mode
) -> None:
    def script(wire: Wire) -> None:
        if len(provider.asked) < 3:
            wire.json({"error": {"message": "slow"}}, status=429, retry_after_ms="1")
        else:
            chat(wire)

    provider.script = script
    with bench.run(mode) as brain:
        _openai(provider.url, max_retries=3)
        calls = lines(brain)
    assert [(call["status"], call.get("retry", False)) for call in calls] == [(429, False), (429, True), (200, True)]


def test_a_stream_that_breaks_off_and_is_asked_for_again_is_a_retry(bench: Bench, provider: LoopbackProvider) -> None:
    def script(wire: Wire) -> None:
        if len(provider.asked) > 1:
            chat(wire)
            return
        wire.head(content_type="text/event-stream")
        wire.chunk(b"data: " + json.dumps({**_CHUNK, "choices": []}).encode() + b"\n\n")
        wire.leave()

    provider.script = script
    with bench.run(Mode.VERIFY) as brain:
        with pytest.raises(openai.APIConnectionError):
            _openai_stream(provider.url, max_retries=0)
        _openai_stream(provider.url, max_retries=0)
        calls = lines(brain)
        assert brain.budget.facts()["unknown"] == 1
    assert [call.get("retry", False) for call in calls] == [False, True]
    assert "tokens" not in calls[0]


def test_urllib3_asks_again_below_its_caller_and_each_time_is_counted(bench: Bench, provider: LoopbackProvider) -> None:
    provider.script = lambda wire: wire.json({"error": "busy"}, status=503)
    with bench.run(Mode.VERIFY, max_requests=3) as brain:
        with urllib3.PoolManager() as pool:
            again = urllib3.Retry(total=9, status_forcelist=[503], allowed_methods=None, raise_on_status=False)
            told = pool.request("POST", provider.url + "/chat/completions", json={"m": 1}, retries=again)
        calls = lines(brain)
    assert told.status == 424
    assert len(provider.asked) == 3
    assert [call["kind"] for call in calls] == ["observed"] * 3 + ["budget"]
    assert [call.get("retry", False) for call in calls] == [False, True, True, False]


# -- what must never leave


@pytest.mark.parametrize("use", _SDKS, ids=lambda use: use.__name__)
def test_no_sdk_tries_a_call_again_that_the_budget_refused(bench: Bench, provider: LoopbackProvider, use: Any) -> None:
    provider.script = chat
    with bench.run(Mode.VERIFY, max_requests=1) as brain:
        use(provider.url)
        began = time.monotonic()
        with pytest.raises(openai.APIStatusError, match="the budget of this run is used up: 1 of 1 requests"):
            use(provider.url, max_retries=5)
        assert time.monotonic() - began < 10  # five tries again would take fifteen
        assert [call["kind"] for call in lines(brain)] == ["observed", "budget"]
    assert len(provider.asked) == 1


@pytest.mark.parametrize("use", _LIBRARIES, ids=lambda use: use.__name__)
def test_each_library_gets_the_refusal_as_an_answer(bench: Bench, provider: LoopbackProvider, use: Any) -> None:
    with bench.run(Mode.VERIFY, max_requests=1):
        assert [use(provider.url) for _ in range(3)] == [200, 424, 424]
    assert len(provider.asked) == 1


def test_redirects_cost_a_request_each(bench: Bench, provider: LoopbackProvider) -> None:
    def script(wire: Wire) -> None:
        wire.json({}, status=307, location=f"{provider.url}/again/{len(provider.asked)}")

    provider.script = script
    with (
        bench.run(Mode.VERIFY, max_requests=3),
        httpx.Client(trust_env=False, follow_redirects=True, max_redirects=9) as client,
    ):
        assert client.post(provider.url + "/chat/completions", json={"m": 1}).status_code == 424
    assert len(provider.asked) == 3


def test_threads_that_ask_at_once_get_no_more_than_there_is(bench: Bench, provider: LoopbackProvider) -> None:
    with bench.run(Mode.VERIFY, max_requests=5), ThreadPoolExecutor(8) as pool:
        told = sorted(pool.map(_urllib3, [provider.url] * 20))
    assert told == [200] * 5 + [424] * 15
    assert len(provider.asked) == 5


_PROCESS = """
import sys
from stackproof.recorder import install, scope
from stackproof.recorder.settings import Settings
with install.installed(Settings.from_json(sys.argv[1]), {}), scope.use(scope.Scope(name=sys.argv[3])):
    import urllib3
    with urllib3.PoolManager(retries=False) as pool:
        for number in range(10):
            pool.request("POST", sys.argv[2] + "/chat/completions", json={"n": number})
"""


def test_processes_that_ask_at_once_get_no_more_than_there_is(bench: Bench, provider: LoopbackProvider) -> None:
    settings = bench.settings(Mode.VERIFY, max_requests=13)
    running = [
        subprocess.Popen([sys.executable, "-c", _PROCESS, settings.to_json(), provider.url, f"t.py::test_{number}"])
        for number in range(4)
    ]
    assert [process.wait(120) for process in running] == [0, 0, 0, 0]
    assert len(provider.asked) == 13
    calls = [json.loads(line) for line in Path(settings.run_dir, "calls.jsonl").read_text().splitlines()]
    assert sorted(call["kind"] for call in calls) == ["budget"] * 27 + ["observed"] * 13


def test_after_the_limit_of_tokens_a_stream_is_refused_too(bench: Bench, provider: LoopbackProvider) -> None:
    provider.script = chat
    with bench.run(Mode.VERIFY, max_tokens=20) as brain:
        _openai_stream(provider.url)
        _async_openai(provider.url)
        with pytest.raises(openai.APIStatusError, match="20 of 20 tokens"):
            _openai_stream(provider.url)
        assert brain.budget.facts()["input"] == 14
    assert len(provider.asked) == 2
