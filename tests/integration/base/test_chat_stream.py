"""Chat completions that come as server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import httpx2
from openai import AsyncOpenAI, OpenAI
from openai.types.chat import ChatCompletionChunk


def check(chunks: Sequence[ChatCompletionChunk]) -> str:
    """The protocol's part of any streamed answer: one id, a role, text, one finish reason at the end; its text."""
    assert len({chunk.id for chunk in chunks}) == 1
    assert {chunk.object for chunk in chunks} == {"chat.completion.chunk"}
    choices = [chunk.choices[0] for chunk in chunks if chunk.choices]
    assert choices[0].delta.role == "assistant"
    reasons = [choice.finish_reason for choice in choices]
    assert reasons[-1] in {"stop", "length"}
    assert set(reasons[:-1]) == {None}
    return "".join(choice.delta.content or "" for choice in choices)


def test_chunks_make_up_an_answer(openai_client: OpenAI, text_model: str) -> None:
    stream = openai_client.chat.completions.create(
        model=text_model,
        messages=[{"role": "user", "content": "Which animal barks?"}],
        temperature=0,
        max_tokens=12,
        stream=True,
    )
    chunks = list(stream)
    assert len(chunks) > 3
    assert check(chunks)


def test_chunks_reach_an_async_client(async_openai_client: AsyncOpenAI, text_model: str) -> None:
    async def ask() -> list[ChatCompletionChunk]:
        async with async_openai_client as client:
            stream = await client.chat.completions.create(
                model=text_model,
                messages=[{"role": "user", "content": "Which animal says meow?"}],
                temperature=0,
                max_tokens=12,
                stream=True,
            )
            return [chunk async for chunk in stream]

    assert check(asyncio.run(ask()))


def test_usage_comes_in_the_last_chunk_when_asked_for(openai_client: OpenAI, text_model: str) -> None:
    stream = openai_client.chat.completions.create(
        model=text_model,
        messages=[{"role": "user", "content": "Count to three."}],
        temperature=0,
        max_tokens=10,
        stream=True,
        stream_options={"include_usage": True},
    )
    *others, last = list(stream)
    assert last.choices == []
    assert last.usage is not None
    assert last.usage.total_tokens == last.usage.prompt_tokens + last.usage.completion_tokens
    assert all(chunk.usage is None for chunk in others)


def test_a_stream_may_be_left_early(openai_client: OpenAI, text_model: str) -> None:
    stream = openai_client.chat.completions.create(
        model=text_model,
        messages=[{"role": "user", "content": "Tell a long story about a lighthouse."}],
        temperature=0,
        max_tokens=32,
        stream=True,
    )
    with stream:
        first = next(iter(stream))
    assert first.object == "chat.completion.chunk"


def test_an_async_stream_may_be_left_early(async_openai_client: AsyncOpenAI, text_model: str) -> None:
    async def ask() -> list[ChatCompletionChunk]:
        async with async_openai_client as client:
            stream = await client.chat.completions.create(
                model=text_model,
                messages=[{"role": "user", "content": "Tell a long story about a mountain."}],
                temperature=0,
                max_tokens=32,
                stream=True,
            )
            async with stream:
                chunks = aiter(stream)
                return [await anext(chunks), await anext(chunks)]

    assert len(asyncio.run(ask())) == 2


def test_the_wire_carries_events_and_ends_with_done(http_client: httpx2.Client, text_model: str) -> None:
    body = {
        "model": text_model,
        "messages": [{"role": "user", "content": "Which season comes after winter?"}],
        "temperature": 0,
        "max_tokens": 6,
        "stream": True,
    }
    with http_client.stream("POST", "/v1/chat/completions", json=body) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = [line for line in response.iter_lines() if line]
    assert all(line.startswith("data: ") for line in lines)
    assert lines[-1] == "data: [DONE]"
    assert all(json.loads(line.removeprefix("data: "))["choices"] for line in lines[:-1])
