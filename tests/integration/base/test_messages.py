"""Anthropic's Messages API, plain and streamed."""

from __future__ import annotations

import asyncio

import httpx2
from anthropic import Anthropic, AsyncAnthropic
from anthropic.types import Message

# This SDK names no temperature any more; servers still read it.
GREEDY = {"temperature": 0}


def check(message: Message) -> str:
    """The protocol's part of any complete message; its text."""
    assert message.type == "message"
    assert message.role == "assistant"
    assert message.id
    assert message.stop_reason in {"end_turn", "max_tokens"}
    assert message.usage.input_tokens >= 1
    assert message.usage.output_tokens >= 1
    return "".join(block.text for block in message.content if block.type == "text")


def test_a_message_is_answered(anthropic_client: Anthropic, text_model: str) -> None:
    message = anthropic_client.messages.create(
        model=text_model,
        messages=[{"role": "user", "content": "Which month comes first?"}],
        extra_body=GREEDY,
        max_tokens=12,
    )
    assert check(message)


def test_a_message_is_cut_at_max_tokens(anthropic_client: Anthropic, text_model: str) -> None:
    message = anthropic_client.messages.create(
        model=text_model,
        system="You tell long stories.",
        messages=[{"role": "user", "content": "Tell one about a fox."}],
        extra_body=GREEDY,
        max_tokens=4,
    )
    check(message)
    assert message.stop_reason == "max_tokens"
    assert message.usage.output_tokens == 4


def test_an_async_client_gets_its_message(async_anthropic_client: AsyncAnthropic, text_model: str) -> None:
    async def ask() -> Message:
        async with async_anthropic_client as client:
            return await client.messages.create(
                model=text_model,
                messages=[{"role": "user", "content": "Which month comes last?"}],
                extra_body=GREEDY,
                max_tokens=12,
            )

    assert check(asyncio.run(ask()))


def test_a_streamed_message_has_its_events_in_order(anthropic_client: Anthropic, text_model: str) -> None:
    stream = anthropic_client.messages.create(
        model=text_model,
        messages=[{"role": "user", "content": "Name a vegetable."}],
        extra_body=GREEDY,
        max_tokens=10,
        stream=True,
    )
    types = [event.type for event in stream]
    assert types[:2] == ["message_start", "content_block_start"]
    assert types[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    assert set(types[2:-3]) == {"content_block_delta"}


def test_the_helper_of_the_sdk_accumulates_a_streamed_message(
    async_anthropic_client: AsyncAnthropic, text_model: str
) -> None:
    async def ask() -> tuple[str, Message]:
        async with (
            async_anthropic_client as client,
            client.messages.stream(
                model=text_model,
                messages=[{"role": "user", "content": "Name a tree."}],
                extra_body=GREEDY,
                max_tokens=10,
            ) as stream,
        ):
            text = "".join([piece async for piece in stream.text_stream])
            return text, await stream.get_final_message()

    text, final = asyncio.run(ask())
    assert check(final) == text


def test_event_names_stand_on_the_wire(http_client: httpx2.Client, text_model: str) -> None:
    body = {
        "model": text_model,
        "messages": [{"role": "user", "content": "Name a stone."}],
        "temperature": 0,
        "max_tokens": 4,
        "stream": True,
    }
    with http_client.stream("POST", "/v1/messages", json=body) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        names = [line.removeprefix("event: ") for line in response.iter_lines() if line.startswith("event: ")]
    assert names[0] == "message_start"
    assert names[-1] == "message_stop"


def test_a_second_turn_sends_the_first_answer_back(anthropic_client: Anthropic, text_model: str) -> None:
    first = anthropic_client.messages.create(
        model=text_model, messages=[{"role": "user", "content": "I have two dogs."}], extra_body=GREEDY, max_tokens=8
    )
    second = anthropic_client.messages.create(
        model=text_model,
        messages=[
            {"role": "user", "content": "I have two dogs."},
            {"role": "assistant", "content": check(first)},
            {"role": "user", "content": "How many dogs do I have?"},
        ],
        extra_body=GREEDY,
        max_tokens=8,
    )
    assert check(second)
    assert second.usage.input_tokens > first.usage.input_tokens
