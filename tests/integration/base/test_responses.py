"""The Responses API, plain and streamed."""

from __future__ import annotations

import asyncio
from typing import Any

from openai import AsyncOpenAI, OpenAI
from openai.types.responses import Response, ResponseCompletedEvent, ResponseIncompleteEvent

ENDINGS = ("response.completed", "response.incomplete")


def check(response: Response) -> str:
    """The protocol's part of any complete response; its text."""
    assert response.object == "response"
    assert response.id
    assert response.status in {"completed", "incomplete"}
    assert response.usage is not None
    assert response.usage.total_tokens == response.usage.input_tokens + response.usage.output_tokens
    (message,) = [item for item in response.output if item.type == "message"]
    assert message.role == "assistant"
    return response.output_text


def test_a_response_holds_one_message(openai_client: OpenAI, text_model: str) -> None:
    response = openai_client.responses.create(
        model=text_model, input="Which metal is liquid?", temperature=0, max_output_tokens=16
    )
    assert check(response)


def test_instructions_are_part_of_what_the_model_reads(openai_client: OpenAI, text_model: str) -> None:
    response = openai_client.responses.create(
        model=text_model,
        instructions="Answer like a sailor.",
        input="How are you?",
        temperature=0,
        max_output_tokens=16,
    )
    assert check(response)


def test_a_streamed_response_has_its_events_in_order(openai_client: OpenAI, text_model: str) -> None:
    stream = openai_client.responses.create(
        model=text_model, input="Which gas do plants need?", temperature=0, max_output_tokens=16, stream=True
    )
    events = list(stream)
    types: list[str] = [event.type for event in events]
    assert types[0] == "response.created"
    # Cut at max_output_tokens, an answer is incomplete; not every provider says so.
    assert types[-1] in ENDINGS
    steps = [
        "response.created",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        types[-1],
    ]
    assert [types.index(step) for step in steps] == sorted(types.index(step) for step in steps)
    assert len({event.item_id for event in events if event.type == "response.output_text.delta"}) == 1


def test_the_final_event_carries_the_whole_response(async_openai_client: AsyncOpenAI, text_model: str) -> None:
    async def ask() -> tuple[str, Response]:
        async with async_openai_client as client:
            stream = await client.responses.create(
                model=text_model, input="Which bird cannot fly?", temperature=0, max_output_tokens=16, stream=True
            )
            text, final = "", None
            async for event in stream:
                if event.type == "response.output_text.delta":
                    text += event.delta
                elif isinstance(event, ResponseCompletedEvent | ResponseIncompleteEvent):
                    final = event.response
            assert final is not None
            return text, final

    text, final = asyncio.run(ask())
    assert check(final) == text


def test_a_second_turn_sends_the_first_output_back(openai_client: OpenAI, text_model: str) -> None:
    first = openai_client.responses.create(model=text_model, input="I like chess.", temperature=0, max_output_tokens=16)
    # Items go back as they came, their ids included.
    turns: list[Any] = [
        {"role": "user", "content": "I like chess."},
        *first.output,
        {"role": "user", "content": "What do I like?"},
    ]
    second = openai_client.responses.create(model=text_model, input=turns, temperature=0, max_output_tokens=16)
    assert check(second)
    assert first.usage is not None
    assert second.usage is not None
    assert second.usage.input_tokens > first.usage.input_tokens
