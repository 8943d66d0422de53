"""Calls of functions in stored conversations: streamed, answered in more than one way, beside a search."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openai import OpenAI
from openai.types.responses import FunctionToolParam, Response, ResponseCompletedEvent, ResponseFunctionToolCall


@pytest.fixture
def weather() -> FunctionToolParam:
    """A function that the caller runs."""
    return {
        "type": "function",
        "name": "get_weather",
        "description": "The weather in a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        "strict": False,
    }


def call_of(response: Response) -> ResponseFunctionToolCall:
    """The one call of a response."""
    (call,) = [item for item in response.output if item.type == "function_call"]
    assert json.loads(call.arguments) == {"city": "Paris"}
    return call


def result(call: ResponseFunctionToolCall, text: str) -> Any:
    """What the caller brings for it."""
    return {"type": "function_call_output", "call_id": call.call_id, "output": text}


def streamed(client: OpenAI, model: str, weather: FunctionToolParam, **more: Any) -> Response:
    """What the last event of a stored, streamed response carries."""
    events: list[Any] = list(
        client.responses.create(
            model=model, tools=[weather], store=True, temperature=0, max_output_tokens=32, stream=True, **more
        )
    )
    (last,) = [event for event in events if isinstance(event, ResponseCompletedEvent)]
    assert events[-1] is last
    response: Response = last.response
    return response


def test_a_streamed_conversation_with_a_call_is_stored(
    openai_client: OpenAI, tool_model: str, weather: FunctionToolParam
) -> None:
    first = streamed(openai_client, tool_model, weather, input="What is the weather in Paris?")
    assert openai_client.responses.retrieve(first.id).output == first.output
    second = streamed(
        openai_client,
        tool_model,
        weather,
        previous_response_id=first.id,
        input=[result(call_of(first), "clear, 21 °C")],
    )
    assert second.previous_response_id == first.id
    assert second.output_text
    assert openai_client.responses.retrieve(second.id).output_text == second.output_text


def test_one_call_is_answered_in_two_ways(openai_client: OpenAI, tool_model: str, weather: FunctionToolParam) -> None:
    root = openai_client.responses.create(
        model=tool_model,
        input="What is the weather in Paris?",
        tools=[weather],
        store=True,
        temperature=0,
        max_output_tokens=32,
    )
    sizes = []
    for text in ("rain", "rain in the morning, then clear, with 21 °C in the afternoon"):
        answered = openai_client.responses.create(
            model=tool_model,
            previous_response_id=root.id,
            input=[result(call_of(root), text)],
            tools=[weather],
            temperature=0,
            max_output_tokens=32,
        )
        assert answered.output_text
        assert answered.usage is not None
        sizes.append(answered.usage.input_tokens)
    assert sizes[1] > sizes[0], "each reads its own result"


def test_a_search_is_done_beside_an_offered_function(
    openai_client: OpenAI, tool_model: str, weather: FunctionToolParam, library: str
) -> None:
    # What was found is the last that the scripted model reads, so it speaks.
    response = openai_client.responses.create(
        model=tool_model,
        input=[{"role": "user", "content": "What does Ada grow?"}],
        tools=[{"type": "file_search", "vector_store_ids": [library]}, weather],
        temperature=0,
        max_output_tokens=32,
    )
    search, message = response.output
    assert search.type == "file_search_call"
    assert search.queries == ["What does Ada grow?"]
    assert message.type == "message"
    assert response.output_text
