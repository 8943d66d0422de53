"""Functions of the caller: the stack hands the call out, and goes on with its result."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from openai import AsyncOpenAI, OpenAI
from openai.types.responses import FunctionToolParam, Response, ResponseFunctionToolCall

QUESTION = {"role": "user", "content": "What is the weather in Paris?"}


def call_of(response: Response) -> ResponseFunctionToolCall:
    """The one call that a response must hold."""
    (call,) = [item for item in response.output if item.type == "function_call"]
    assert call.name == "get_weather"
    assert call.call_id
    assert json.loads(call.arguments) == {"city": "Paris"}
    return call


def result(call: ResponseFunctionToolCall, text: str) -> dict[str, Any]:
    """What the caller brings for it."""
    return {"type": "function_call_output", "call_id": call.call_id, "output": text}


def ask(client: OpenAI, model: str, weather: FunctionToolParam, items: list[Any], **more: Any) -> Response:
    """One request with the function in it."""
    response: Response = client.responses.create(
        model=model, input=items, tools=[weather], temperature=0, max_output_tokens=32, **more
    )
    assert response.status == "completed"
    assert response.usage is not None
    assert response.usage.total_tokens == response.usage.input_tokens + response.usage.output_tokens
    return response


def test_a_call_is_handed_out_and_its_result_taken(
    openai_client: OpenAI, tool_model: str, weather: FunctionToolParam
) -> None:
    first = ask(openai_client, tool_model, weather, [QUESTION])
    assert not first.output_text, "it is the caller's turn"
    call = call_of(first)
    items = [QUESTION, *(item.to_dict() for item in first.output), result(call, "clear, 21 °C")]
    second = ask(openai_client, tool_model, weather, items)
    assert [item.type for item in second.output] == ["message"]
    assert second.output_text
    assert first.usage is not None
    assert second.usage is not None
    assert second.usage.input_tokens > first.usage.input_tokens


def test_a_result_may_say_that_the_function_failed(
    openai_client: OpenAI, tool_model: str, weather: FunctionToolParam
) -> None:
    first = ask(openai_client, tool_model, weather, [QUESTION])
    call = call_of(first)
    items = [QUESTION, *(item.to_dict() for item in first.output), result(call, "error: no such city")]
    assert ask(openai_client, tool_model, weather, items).output_text


def test_a_stored_conversation_has_several_turns_with_calls(
    openai_client: OpenAI, tool_model: str, weather: FunctionToolParam
) -> None:
    response = ask(openai_client, tool_model, weather, [QUESTION], store=True)
    sizes = []
    for text in ("clear, 21 °C", "rain, 9 °C"):
        output = result(call_of(response), text)
        answered = ask(openai_client, tool_model, weather, [output], store=True, previous_response_id=response.id)
        assert answered.output_text
        assert openai_client.responses.retrieve(answered.id).to_dict() == answered.to_dict()
        again = {"role": "user", "content": "And now?"}
        response = ask(openai_client, tool_model, weather, [again], store=True, previous_response_id=answered.id)
        assert response.previous_response_id == answered.id
        assert response.usage is not None
        sizes.append(response.usage.input_tokens)
    assert sizes[1] > sizes[0], "the model reads every turn before"
    call_of(response)


def test_a_streamed_call_has_its_events_in_order(
    openai_client: OpenAI, tool_model: str, weather: FunctionToolParam
) -> None:
    events = list(
        openai_client.responses.create(
            model=tool_model,
            input="What is the weather in Paris?",
            tools=[weather],
            temperature=0,
            max_output_tokens=32,
            stream=True,
        )
    )
    types: list[str] = [event.type for event in events]
    steps = [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [types.index(step) for step in steps] == sorted(types.index(step) for step in steps)
    assert (types[0], types[-1]) == (steps[0], steps[-1])
    assert types.count("response.completed") == 1
    numbers = [event.sequence_number for event in events]
    assert numbers == sorted(set(numbers))
    arguments = "".join(event.delta for event in events if event.type == "response.function_call_arguments.delta")
    last = events[-1]
    assert last.type == "response.completed"
    assert call_of(last.response).arguments == arguments


def test_a_streamed_call_can_be_gone_on_from(
    async_openai_client: AsyncOpenAI, tool_model: str, weather: FunctionToolParam
) -> None:
    async def converse() -> str:
        async with async_openai_client as client:
            stream = await client.responses.create(
                model=tool_model,
                input="What is the weather in Paris?",
                tools=[weather],
                store=True,
                temperature=0,
                max_output_tokens=32,
                stream=True,
            )
            (first,) = [event.response async for event in stream if event.type == "response.completed"]
            second = await client.responses.create(
                model=tool_model,
                input=[result(call_of(first), "clear, 21 °C")],  # type: ignore[list-item]
                previous_response_id=first.id,
                tools=[weather],
                temperature=0,
                max_output_tokens=32,
                stream=True,
            )
            pieces = [event.delta async for event in stream_of(second) if event.type == "response.output_text.delta"]
            return "".join(pieces)

    assert asyncio.run(converse())


async def stream_of(stream: Any) -> Any:
    """The events of a stream, which ends well."""
    last = None
    async for event in stream:
        last = event
        yield event
    assert last is not None
    assert last.type == "response.completed"


def test_a_model_that_needs_no_function_only_speaks(
    openai_client: OpenAI, text_model: str, weather: FunctionToolParam
) -> None:
    stream = openai_client.responses.create(
        model=text_model,
        input="Which animal barks?",
        tools=[weather],
        temperature=0,
        max_output_tokens=16,
        stream=True,
    )
    events = list(stream)
    types: list[str] = [event.type for event in events]
    steps = [
        "response.created",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.content_part.done",
        "response.output_item.done",
        types[-1],
    ]
    assert [types.index(step) for step in steps] == sorted(types.index(step) for step in steps)
    last = events[-1]
    # Cut at max_output_tokens, an answer is incomplete; not every provider says so.
    assert last.type in ("response.completed", "response.incomplete")
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert last.response.output_text == text


def test_the_helper_of_the_sdk_puts_a_streamed_call_together(
    openai_client: OpenAI, tool_model: str, weather: FunctionToolParam
) -> None:
    with openai_client.responses.stream(
        model=tool_model,
        input="What is the weather in Paris?",
        tools=[weather],
        temperature=0,
        max_output_tokens=32,
    ) as stream:
        final = stream.get_final_response()
    (call,) = [item for item in final.output if item.type == "function_call"]
    assert json.loads(call.arguments) == {"city": "Paris"}
