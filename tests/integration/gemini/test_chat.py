"""Gemini's models behind OpenAI's chat API: the stack translates both ways through Google's SDK."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI, OpenAI

WEATHER: Any = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
ASK: Any = {"role": "user", "content": "What is the weather in Paris?"}


def test_a_question_is_answered(openai_client: OpenAI, gemini_model: str) -> None:
    completion = openai_client.chat.completions.create(
        model=gemini_model, messages=[{"role": "user", "content": "Name a river."}], temperature=0, max_tokens=20
    )
    assert completion.object == "chat.completion"
    assert completion.model == gemini_model
    (choice,) = completion.choices
    assert choice.finish_reason in {"stop", "length"}
    assert choice.message.content
    assert completion.usage is not None
    assert completion.usage.total_tokens >= completion.usage.completion_tokens > 0


def test_a_stream_says_it_in_pieces(openai_client: OpenAI, gemini_model: str) -> None:
    chunks = list(
        openai_client.chat.completions.create(
            model=gemini_model,
            messages=[{"role": "user", "content": "Name a lake."}],
            temperature=0,
            max_tokens=20,
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    assert len({chunk.id for chunk in chunks}) == 1
    *spoken, last = chunks
    assert spoken[0].choices[0].delta.role == "assistant"
    assert "".join(chunk.choices[0].delta.content or "" for chunk in spoken)
    assert spoken[-1].choices[0].finish_reason in {"stop", "length"}
    assert last.usage is not None
    assert not last.choices


def test_an_async_client_streams_too(async_openai_client: AsyncOpenAI, gemini_model: str) -> None:
    async def ask() -> str:
        async with async_openai_client as client:
            stream = await client.chat.completions.create(
                model=gemini_model, messages=[{"role": "user", "content": "Name a hill."}], max_tokens=20, stream=True
            )
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    assert asyncio.run(ask())


def test_a_conversation_and_a_system_are_read(openai_client: OpenAI, gemini_model: str) -> None:
    completion = openai_client.chat.completions.create(
        model=gemini_model,
        messages=[
            {"role": "system", "content": "You are brief."},
            {"role": "user", "content": "I have two dogs."},
            {"role": "assistant", "content": "Good."},
            {"role": "user", "content": "How many dogs do I have?"},
        ],
        max_tokens=20,
    )
    assert completion.choices[0].message.content
    assert completion.usage is not None
    assert completion.usage.prompt_tokens > 5


def test_a_tool_is_called_and_its_answer_taken(openai_client: OpenAI, gemini_model: str) -> None:
    first = openai_client.chat.completions.create(model=gemini_model, messages=[ASK], tools=[WEATHER])
    (choice,) = first.choices
    assert choice.finish_reason == "tool_calls"
    assert choice.message.tool_calls is not None
    (call,) = choice.message.tool_calls
    assert call.type == "function"
    assert call.function.name == "get_weather"
    assert isinstance(json.loads(call.function.arguments), dict)
    turns: list[Any] = [
        ASK,
        choice.message.model_dump(exclude_none=True, include={"role", "tool_calls"}),
        {"role": "tool", "tool_call_id": call.id, "content": "It is sunny."},
    ]
    second = openai_client.chat.completions.create(model=gemini_model, messages=turns)
    assert second.choices[0].message.content


def test_json_is_answered_where_it_is_asked_for(openai_client: OpenAI, gemini_model: str) -> None:
    completion = openai_client.chat.completions.create(
        model=gemini_model,
        messages=[{"role": "user", "content": "Answer in JSON: a colour."}],
        response_format={"type": "json_object"},
    )
    assert isinstance(json.loads(completion.choices[0].message.content or ""), dict)


def test_a_question_without_content_is_the_sdks_bad_request(openai_client: OpenAI, gemini_model: str) -> None:
    with pytest.raises(openai.BadRequestError, match="contents"):
        openai_client.chat.completions.create(model=gemini_model, messages=[{"role": "system", "content": "Hi"}])
