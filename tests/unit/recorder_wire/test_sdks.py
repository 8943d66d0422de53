"""The SDKs above the wire: their own objects, streams and exceptions come out of recordings."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import anthropic
import httpx
import openai
import pytest

if TYPE_CHECKING:
    from tests.unit.recorder_wire.conftest import Bench, LoopbackProvider, Wire

_KEY = "a-key"
_CHAT = {
    "id": "chatcmpl-real",
    "object": "chat.completion",
    "created": 1700000000,
    "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hello there."}}],
}
_MESSAGE = {
    "id": "msg_real",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "text", "text": "Hello there."}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 3, "output_tokens": 2},
}
_ASK: Any = [{"role": "user", "content": "Hi"}]


def _chat(wire: Wire) -> None:
    if not wire.asked.json.get("stream"):
        wire.json(_CHAT)
        return
    parts = [{"role": "assistant"}, {"content": "Hello"}, {"content": " there."}, {}]
    wire.events(
        *(
            {
                **_CHAT,
                "object": "chat.completion.chunk",
                "choices": [{"index": 0, "delta": part, "finish_reason": None if part else "stop"}],
            }
            for part in parts
        )
    )


def _message(wire: Wire) -> None:
    if not wire.asked.json.get("stream"):
        wire.json(_MESSAGE)
        return
    import json

    wire.head(content_type="text/event-stream")
    for event in (
        {"type": "message_start", "message": {**_MESSAGE, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello there."}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ):
        wire.chunk(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
    wire.end()


def _openai_sync(url: str, **more: Any) -> tuple[str, str, str]:
    with openai.OpenAI(base_url=url, api_key=_KEY, max_retries=0, **more) as client:
        plain = client.chat.completions.create(model="m", messages=_ASK)
        stream = client.chat.completions.create(model="m", messages=_ASK, stream=True)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
    return plain.id, str(plain.choices[0].message.content), text


def _openai_async(url: str, **more: Any) -> tuple[str, str, str]:
    async def main() -> tuple[str, str, str]:
        async with openai.AsyncOpenAI(base_url=url, api_key=_KEY, max_retries=0, **more) as client:
            plain = await client.chat.completions.create(model="m", messages=_ASK)
            stream = await client.chat.completions.create(model="m", messages=_ASK, stream=True)
            text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
        return plain.id, str(plain.choices[0].message.content), text

    return asyncio.run(main())


def _openai_over_legacy_httpx(url: str) -> tuple[str, str, str]:
    return _openai_sync(url, http_client=httpx.Client(trust_env=False))


def _async_openai_over_legacy_httpx(url: str) -> tuple[str, str, str]:
    return _openai_async(url, http_client=httpx.AsyncClient(trust_env=False))


def _anthropic_sync(url: str) -> tuple[str, str, str]:
    with anthropic.Anthropic(base_url=url, api_key=_KEY, max_retries=0) as client:
        plain = client.messages.create(model="m", max_tokens=9, messages=_ASK)
        with client.messages.stream(model="m", max_tokens=9, messages=_ASK) as stream:
            text = "".join(stream.text_stream)
    return plain.id, plain.content[0].text, text  # type: ignore[union-attr]


def _anthropic_async(url: str) -> tuple[str, str, str]:
    async def main() -> tuple[str, str, str]:
        async with anthropic.AsyncAnthropic(base_url=url, api_key=_KEY, max_retries=0) as client:
            plain = await client.messages.create(model="m", max_tokens=9, messages=_ASK)
            async with client.messages.stream(model="m", max_tokens=9, messages=_ASK) as stream:
                text = "".join([piece async for piece in stream.text_stream])
        return plain.id, plain.content[0].text, text  # type: ignore[union-attr]

    return asyncio.run(main())


@pytest.mark.parametrize(
    "use",
    [
        _openai_sync,
        _openai_async,
        _openai_over_legacy_httpx,
        _async_openai_over_legacy_httpx,
        _anthropic_sync,
        _anthropic_async,
    ],
    ids=lambda use: use.__name__.strip("_"),
)
def test_an_sdk_rebuilds_its_objects_from_the_recording(bench: Bench, provider: LoopbackProvider, use: Any) -> None:
    provider.script = _message if "anthropic" in use.__name__ else _chat
    with bench.record():
        recorded = use(provider.url)
    with bench.replay() as brain:
        replayed = use(provider.url)
        kinds = [call["kind"] for call in brain.ledger.read("calls")[0]]
    assert recorded == replayed
    assert recorded[1:] == ("Hello there.", "Hello there.")
    assert "real" not in recorded[0]
    assert kinds == ["replayed", "replayed"]
    assert all(kept["response"]["complete"] for kept in bench.recordings())


def test_sdks_share_recordings_between_colours_and_libraries(bench: Bench, provider: LoopbackProvider) -> None:
    provider.script = _chat
    with bench.record():
        recorded = _openai_sync(provider.url)
    for use in (_openai_async, _openai_over_legacy_httpx, _async_openai_over_legacy_httpx):
        with bench.replay():
            assert use(provider.url) == recorded


@pytest.mark.parametrize("status", [400, 404, 422])
def test_a_lasting_error_is_the_sdks_own_exception(bench: Bench, provider: LoopbackProvider, status: int) -> None:
    provider.script = lambda wire: wire.json({"error": {"message": "no such model", "code": "gone"}}, status=status)
    told = []
    for run in (bench.record, bench.replay):
        with run(), pytest.raises(openai.APIStatusError) as caught:
            _openai_sync(provider.url)
        told.append((type(caught.value), caught.value.message, caught.value.body))
    assert told[0] == told[1]


def test_a_rate_limit_is_repeated_by_the_sdk_as_it_was_without_the_wait(
    bench: Bench, provider: LoopbackProvider
) -> None:
    def script(wire: Wire) -> None:
        if len(provider.asked) == 1:
            wire.json({"error": {"message": "slow"}}, status=429, retry_after="1")
        else:
            wire.json(_CHAT)

    provider.script = script

    def ask() -> float:
        began = time.monotonic()
        with openai.OpenAI(base_url=provider.url, api_key=_KEY, max_retries=1) as client:
            assert client.chat.completions.create(model="m", messages=_ASK).choices[0].message.content
        return time.monotonic() - began

    with bench.record(record_errors=True):
        assert ask() >= 1.0
    took = []
    for _ in range(5):
        with bench.replay() as brain:
            took.append(ask())
            assert [call["kind"] for call in brain.ledger.read("calls")[0]] == ["replayed", "replayed"]
    assert min(took) < 1, "whoever waits takes longer each time; a busy machine does not hold up each of them"


def test_a_miss_reaches_the_test_in_the_sdks_exception_at_once(bench: Bench, provider: LoopbackProvider) -> None:
    began = time.monotonic()
    with bench.replay() as brain, openai.OpenAI(base_url=provider.url, api_key=_KEY, max_retries=5) as client:
        with pytest.raises(openai.APIStatusError, match="no recording for POST /chat/completions"):
            client.chat.completions.create(model="m", messages=_ASK)
        assert len(brain.ledger.read("misses")[0]) == 1, "no SDK repeats a miss"
    assert time.monotonic() - began < 10, "five tries again would take fifteen"


@pytest.mark.parametrize("leave", ["break", "close"])
def test_leaving_an_sdk_stream_early_replays(bench: Bench, provider: LoopbackProvider, leave: str) -> None:
    def script(wire: Wire) -> None:
        wire.head(content_type="text/event-stream")
        while True:  # until nobody listens
            wire.chunk(
                b'data: {"object":"chat.completion.chunk","id":"x","created":1,"model":"m",'
                b'"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}\n\n'
            )
            time.sleep(0.005)

    provider.script = script

    def ask() -> None:
        with openai.OpenAI(base_url=provider.url, api_key=_KEY, max_retries=0) as client:
            stream = client.chat.completions.create(model="m", messages=_ASK, stream=True)
            for _ in stream:
                if leave == "close":
                    stream.close()
                break

    for run in (bench.record, bench.replay):
        with run() as brain:
            ask()
            assert brain.ledger.read("misses")[0] == []
    (kept,) = bench.recordings()
    assert kept["response"]["complete"] is False
