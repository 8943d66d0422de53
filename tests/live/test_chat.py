"""OpenAI's Chat Completions: a completion, a stream to its `[DONE]`, a call of a tool."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import httpx2
import pytest
from openai import OpenAI
from openai.types.chat import ChatCompletionFunctionToolParam

from stackproof.catalog.records import Wire

Posted = Callable[[str, Any], AbstractContextManager[httpx2.Response]]
# Reasoning models think before they speak, and need the room for both.
MOST = 1024
ENDS = {"stop", "length", "content_filter"}
WEATHER: ChatCompletionFunctionToolParam = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


@pytest.fixture
def model(speaking: Callable[[Wire], str]) -> str:
    """A model behind Chat Completions."""
    return speaking(Wire.CHAT)


def test_a_completion_is_whole(openai_client: OpenAI, model: str) -> None:
    completion = openai_client.chat.completions.create(
        model=model, messages=[{"role": "user", "content": "Say hello."}], max_completion_tokens=MOST
    )
    assert completion.id
    assert completion.object == "chat.completion"
    (choice,) = completion.choices
    assert choice.message.role == "assistant"
    assert choice.finish_reason in ENDS
    if choice.finish_reason == "stop":
        assert choice.message.content or choice.message.refusal
    assert completion.usage is not None
    assert completion.usage.prompt_tokens > 0
    assert completion.usage.completion_tokens > 0
    assert completion.usage.total_tokens >= completion.usage.prompt_tokens + completion.usage.completion_tokens


def test_a_stream_reaches_its_end(posted: Posted, model: str) -> None:
    # The SDK hides the event that ends a stream, so the wire is read itself.
    body = {
        "model": model,
        "messages": [{"role": "user", "content": "Say hello again."}],
        "max_completion_tokens": MOST,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    with posted("/v1/chat/completions", body) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        data = [line.removeprefix("data: ") for line in response.iter_lines() if line.startswith("data: ")]
    assert data
    assert data[-1] == "[DONE]", f"the stream ended with {data[-1][:500]}"
    chunks: list[dict[str, Any]] = [json.loads(one) for one in data[:-1]]
    spoken = [chunk for chunk in chunks if chunk["choices"]]
    assert len({chunk["id"] for chunk in spoken}) == 1
    assert {chunk["object"] for chunk in spoken} == {"chat.completion.chunk"}
    roles = [role for chunk in spoken if (role := chunk["choices"][0]["delta"].get("role"))]
    assert set(roles) == {"assistant"}
    reasons = [reason for chunk in spoken if (reason := chunk["choices"][0].get("finish_reason"))]
    assert len(reasons) == 1
    assert reasons[0] in ENDS
    (usage,) = [usage for chunk in chunks if (usage := chunk.get("usage"))][-1:]
    assert usage["prompt_tokens"] > 0
    assert usage["completion_tokens"] > 0


def test_a_tool_is_called(openai_client: OpenAI, model: str, calling_model: str) -> None:
    completion = openai_client.chat.completions.create(
        model=calling_model,
        messages=[{"role": "user", "content": "What is the weather in Paris?"}],
        tools=[WEATHER],
        tool_choice="required",
        max_completion_tokens=MOST,
    )
    (choice,) = completion.choices
    assert choice.message.role == "assistant"
    calls = choice.message.tool_calls
    assert calls
    for call in calls:
        assert call.id
        assert call.type == "function"
        assert call.function.name == "get_weather"
        assert isinstance(json.loads(call.function.arguments), dict)
    # A tool that had to be called may end with either.
    assert choice.finish_reason in {"tool_calls", "stop"}
    assert completion.usage is not None
