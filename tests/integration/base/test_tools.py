"""Tool calls: offered, called, answered."""

from __future__ import annotations

import asyncio
import json

from anthropic import Anthropic
from openai import AsyncOpenAI, OpenAI
from openai.types.chat import ChatCompletion, ChatCompletionFunctionToolParam, ChatCompletionMessageParam

WEATHER: ChatCompletionFunctionToolParam = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
QUESTION: ChatCompletionMessageParam = {"role": "user", "content": "What is the weather in Paris?"}


def check(completion: ChatCompletion) -> tuple[str, str]:
    """Id and arguments of the one call to get_weather that an answer must hold."""
    (choice,) = completion.choices
    assert choice.finish_reason == "tool_calls"
    assert choice.message.tool_calls is not None
    (call,) = choice.message.tool_calls
    assert call.type == "function"
    assert call.function.name == "get_weather"
    assert isinstance(json.loads(call.function.arguments)["city"], str)
    assert call.id
    return call.id, call.function.arguments


def test_an_offered_tool_is_called(openai_client: OpenAI, tool_model: str) -> None:
    completion = openai_client.chat.completions.create(
        model=tool_model, messages=[QUESTION], tools=[WEATHER], tool_choice="auto", temperature=0, max_tokens=32
    )
    check(completion)


def test_an_offered_tool_is_called_by_an_async_client_too(async_openai_client: AsyncOpenAI, tool_model: str) -> None:
    async def ask() -> ChatCompletion:
        async with async_openai_client as client:
            return await client.chat.completions.create(
                model=tool_model, messages=[QUESTION], tools=[WEATHER], tool_choice="auto", temperature=0, max_tokens=32
            )

    check(asyncio.run(ask()))


def test_without_tools_there_is_text(openai_client: OpenAI, tool_model: str) -> None:
    completion = openai_client.chat.completions.create(
        model=tool_model, messages=[QUESTION], temperature=0, max_tokens=16
    )
    assert completion.choices[0].message.tool_calls is None
    assert completion.choices[0].message.content


def test_a_tool_call_is_streamed_in_pieces(openai_client: OpenAI, tool_model: str) -> None:
    stream = openai_client.chat.completions.create(
        model=tool_model,
        messages=[QUESTION],
        tools=[WEATHER],
        tool_choice="auto",
        temperature=0,
        max_tokens=32,
        stream=True,
    )
    choices = [chunk.choices[0] for chunk in stream if chunk.choices]
    pieces = [call for choice in choices for call in choice.delta.tool_calls or []]
    assert choices[-1].finish_reason == "tool_calls"
    assert {piece.index for piece in pieces} == {0}
    assert [piece.id for piece in pieces if piece.id], "the first piece names the call"
    names = [piece.function.name for piece in pieces if piece.function and piece.function.name]
    assert names == ["get_weather"]
    arguments = "".join(piece.function.arguments or "" for piece in pieces if piece.function)
    assert isinstance(json.loads(arguments)["city"], str)


def test_a_tools_result_is_sent_back(openai_client: OpenAI, tool_model: str) -> None:
    first = openai_client.chat.completions.create(
        model=tool_model, messages=[QUESTION], tools=[WEATHER], tool_choice="auto", temperature=0, max_tokens=32
    )
    name, arguments = check(first)
    second = openai_client.chat.completions.create(
        model=tool_model,
        messages=[
            QUESTION,
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": name, "type": "function", "function": {"name": "get_weather", "arguments": arguments}}
                ],
            },
            {"role": "tool", "tool_call_id": name, "content": json.dumps({"sky": "clear", "celsius": 21})},
        ],
        tools=[WEATHER],
        tool_choice="auto",
        temperature=0,
        max_tokens=32,
    )
    assert second.choices[0].message.content
    assert second.choices[0].finish_reason in {"stop", "length"}


def test_messages_knows_tools_too(anthropic_client: Anthropic, tool_model: str) -> None:
    message = anthropic_client.messages.create(
        model=tool_model,
        messages=[{"role": "user", "content": "What is the weather in Paris?"}],
        tools=[
            {
                "name": "get_weather",
                "description": "The weather in a city.",
                "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
            }
        ],
        extra_body={"temperature": 0},  # this SDK names it no more
        max_tokens=32,
    )
    assert message.stop_reason == "tool_use"
    (block,) = [block for block in message.content if block.type == "tool_use"]
    assert block.name == "get_weather"
    assert isinstance(block.input, dict)
    assert set(block.input) == {"city"}


def test_responses_knows_tools_too(openai_client: OpenAI, tool_model: str) -> None:
    response = openai_client.responses.create(
        model=tool_model,
        input="What is the weather in Paris?",
        tools=[
            {
                "type": "function",
                "name": "get_weather",
                "description": "The weather in a city.",
                "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
                "strict": False,
            }
        ],
        temperature=0,
        max_output_tokens=32,
    )
    (call,) = [item for item in response.output if item.type == "function_call"]
    assert call.name == "get_weather"
    assert call.call_id
    assert set(json.loads(call.arguments)) == {"city"}
