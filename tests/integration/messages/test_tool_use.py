"""Tools in the Messages API: the call, its answer, and the same streamed."""

from __future__ import annotations

from typing import Any

from anthropic import Anthropic
from anthropic.types import ToolUseBlock

WEATHER: Any = {
    "name": "get_weather",
    "description": "Get the weather of a city.",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
ASK: Any = {"role": "user", "content": "What is the weather in Paris?"}


def call(client: Anthropic, model: str) -> ToolUseBlock:
    """The tool use that the model asks for."""
    message = client.messages.create(model=model, messages=[ASK], tools=[WEATHER], max_tokens=200)
    assert message.stop_reason == "tool_use"
    (block,) = [block for block in message.content if block.type == "tool_use"]
    return block


def test_a_tool_is_called_with_its_input(anthropic_client: Anthropic, tool_model: str) -> None:
    block = call(anthropic_client, tool_model)
    assert (block.name, block.input) == ("get_weather", {"city": "Paris"})
    assert block.id


def test_a_tools_result_is_answered_with_text(anthropic_client: Anthropic, tool_model: str) -> None:
    block = call(anthropic_client, tool_model)
    result: Any = {"type": "tool_result", "tool_use_id": block.id, "content": "It is sunny."}
    use: Any = {"type": "tool_use", "id": block.id, "name": block.name, "input": block.input}
    message = anthropic_client.messages.create(
        model=tool_model,
        messages=[ASK, {"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}],
        tools=[WEATHER],
        max_tokens=100,
    )
    assert message.stop_reason == "end_turn"
    assert [block.type for block in message.content] == ["text"]


def test_a_streamed_call_brings_its_input_in_pieces(anthropic_client: Anthropic, tool_model: str) -> None:
    stream = anthropic_client.messages.create(
        model=tool_model, messages=[ASK], tools=[WEATHER], max_tokens=200, stream=True
    )
    pieces, started, reasons = [], [], []
    for event in stream:
        if event.type == "content_block_start":
            started.append(event.content_block.type)
        elif event.type == "content_block_delta" and event.delta.type == "input_json_delta":
            pieces.append(event.delta.partial_json)
        elif event.type == "message_delta":
            reasons.append(event.delta.stop_reason)
    assert started == ["tool_use"]
    assert len(pieces) > 1
    assert "".join(pieces).replace(" ", "") == '{"city":"Paris"}'
    assert reasons == ["tool_use"]


def test_the_helper_of_the_sdk_puts_a_streamed_call_together(anthropic_client: Anthropic, tool_model: str) -> None:
    with anthropic_client.messages.stream(model=tool_model, messages=[ASK], tools=[WEATHER], max_tokens=200) as stream:
        order = [event.type for event in stream]
        final = stream.get_final_message()
    (block,) = final.content
    assert block.type == "tool_use"
    assert block.input == {"city": "Paris"}
    assert order[0] == "message_start"
    assert order[-1] == "message_stop"
    assert order.index("content_block_start") < order.index("content_block_stop") < order.index("message_delta")


def test_without_tools_the_same_model_answers_with_text(anthropic_client: Anthropic, tool_model: str) -> None:
    message = anthropic_client.messages.create(model=tool_model, messages=[ASK], max_tokens=100)
    assert message.stop_reason == "end_turn"
    (block,) = message.content
    assert block.type == "text"
    assert block.text == "This sentence is scripted, token by token."
