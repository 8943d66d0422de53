"""Tools that the stack hosts: it runs them itself and goes on with the model, all within one request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

from openai import AsyncOpenAI, OpenAI
from openai.types.responses import FunctionToolParam, Response
from openai.types.responses.response_output_item import McpCall
from openai.types.responses.tool_param import Mcp

Hosted = Callable[[str], Mcp]
QUESTION = "What is the weather in Paris?"


def ask(client: OpenAI, model: str, *tools: Mcp | FunctionToolParam, store: bool = False) -> Response:
    """The question, with these tools."""
    response = client.responses.create(
        model=model, input=QUESTION, tools=tools, store=store, temperature=0, max_output_tokens=32
    )
    assert response.status == "completed"
    assert response.output_text, "the model speaks after it has read the result"
    return response


def call_of(response: Response) -> McpCall:
    """The one call, which stands before the message."""
    call, message = response.output
    assert message.type == "message"
    assert call.type == "mcp_call"
    assert call.name == "get_weather"
    assert json.loads(call.arguments) == {"city": "Paris"}
    return call


def test_the_stack_runs_its_own_tool(openai_client: OpenAI, tool_model: str, hosted: Hosted) -> None:
    response = ask(openai_client, tool_model, hosted("weather"))
    call = call_of(response)
    assert (call.server_label, call.status) == ("weather", "completed")
    assert (call.output, call.error) == ("clear, 21 °C", None)
    assert response.usage is not None
    assert response.usage.total_tokens == response.usage.input_tokens + response.usage.output_tokens


def test_a_tool_may_be_a_program(openai_client: OpenAI, tool_model: str, hosted: Hosted) -> None:
    call = call_of(ask(openai_client, tool_model, hosted("station")))
    assert (call.status, call.output) == ("completed", "Paris: clear, 20.5 °C, measured at the station")


def test_a_program_that_is_not_allowed_is_not_run(openai_client: OpenAI, tool_model: str, hosted: Hosted) -> None:
    call = call_of(ask(openai_client, tool_model, hosted("archive")))
    assert (call.status, call.output) == ("failed", None)
    assert "the archive is closed for Paris" in json.dumps(call.to_dict()["error"])


def test_the_steps_of_a_hosted_call_are_streamed_in_order(
    openai_client: OpenAI, tool_model: str, hosted: Hosted
) -> None:
    events = list(
        openai_client.responses.create(
            model=tool_model,
            input=QUESTION,
            tools=[hosted("weather")],
            temperature=0,
            max_output_tokens=32,
            stream=True,
        )
    )
    types: list[str] = [event.type for event in events]
    assert types[:9] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.mcp_call.in_progress",
        "response.mcp_call_arguments.delta",
        "response.mcp_call_arguments.done",
        "response.mcp_call.completed",
        "response.output_item.done",
        "response.output_item.added",
    ]
    assert types[-3:] == ["response.content_part.done", "response.output_item.done", "response.completed"]
    assert types.count("response.completed") == 1
    numbers = [event.sequence_number for event in events]
    assert numbers == list(range(len(events)))
    places = [event.output_index for event in events if event.type == "response.output_item.done"]
    assert places == [0, 1]
    last = events[-1]
    assert last.type == "response.completed"
    assert call_of(last.response).output == "clear, 21 °C"
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert last.response.output_text == text


def test_an_async_stream_runs_a_program_too(async_openai_client: AsyncOpenAI, tool_model: str, hosted: Hosted) -> None:
    async def ask() -> Response:
        async with async_openai_client as client:
            stream = await client.responses.create(
                model=tool_model,
                input=QUESTION,
                tools=[hosted("station")],
                temperature=0,
                max_output_tokens=32,
                stream=True,
            )
            (last,) = [event.response async for event in stream if event.type == "response.completed"]
            return last

    assert call_of(asyncio.run(ask())).status == "completed"


def test_a_hosted_tool_goes_together_with_functions(
    openai_client: OpenAI, tool_model: str, hosted: Hosted, weather: FunctionToolParam
) -> None:
    note: FunctionToolParam = {**weather, "name": "take_a_note", "description": "Write something down."}
    call = call_of(ask(openai_client, tool_model, hosted("weather"), note))
    assert call.output == "clear, 21 °C"


def test_a_conversation_goes_on_from_a_hosted_call(openai_client: OpenAI, tool_model: str, hosted: Hosted) -> None:
    first = ask(openai_client, tool_model, hosted("weather"), store=True)
    assert openai_client.responses.retrieve(first.id).to_dict() == first.to_dict()
    second = openai_client.responses.create(
        model=tool_model, input="Say it again.", previous_response_id=first.id, temperature=0, max_output_tokens=32
    )
    assert second.output_text
    assert second.usage is not None
    assert second.usage.input_tokens > 100, "the model reads the call and its result"


def test_a_caller_may_send_a_hosted_call_back(openai_client: OpenAI, tool_model: str, hosted: Hosted) -> None:
    first = ask(openai_client, tool_model, hosted("weather"))
    items = [
        {"role": "user", "content": QUESTION},
        *(item.to_dict() for item in first.output),
        {"role": "user", "content": "And now?"},
    ]
    second = openai_client.responses.create(
        model=tool_model,
        input=items,  # type: ignore[arg-type]
        tools=[hosted("weather")],
        temperature=0,
        max_output_tokens=32,
    )
    assert call_of(second).output == "clear, 21 °C"
    assert second.usage is not None
    assert first.usage is not None
    assert second.usage.input_tokens > first.usage.input_tokens
