"""Anthropic's Messages: one in one piece, and one event by event to `message_stop`."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from anthropic import Anthropic
from anthropic.types import Message, Usage

from stackproof.catalog.records import Wire

MOST = 1024
ENDS = {"end_turn", "max_tokens", "stop_sequence", "refusal"}


@pytest.fixture
def model(speaking: Callable[[Wire], str]) -> str:
    """A model behind Messages."""
    return speaking(Wire.MESSAGES)


def test_a_message_is_whole(anthropic_client: Anthropic, model: str) -> None:
    message = anthropic_client.messages.create(
        model=model, messages=[{"role": "user", "content": "Say hello."}], max_tokens=MOST
    )
    assert isinstance(message, Message)
    assert message.id
    assert (message.type, message.role) == ("message", "assistant")
    assert message.stop_reason in ENDS
    assert isinstance(message.usage, Usage)
    assert message.usage.input_tokens > 0
    assert message.usage.output_tokens > 0


def test_a_stream_reaches_its_end(anthropic_client: Anthropic, model: str) -> None:
    events = list(
        anthropic_client.messages.create(
            model=model, messages=[{"role": "user", "content": "Say hello again."}], max_tokens=MOST, stream=True
        )
    )
    types = [event.type for event in events]
    assert types
    assert types[0] == "message_start"
    assert types[-1] == "message_stop", f"the stream ended with {events[-1]!r}"
    first = events[0]
    assert first.type == "message_start"
    assert first.message.id
    assert first.message.role == "assistant"
    (delta,) = [event for event in events if event.type == "message_delta"]
    assert delta.delta.stop_reason in ENDS
    assert delta.usage.output_tokens > 0
    assert types.count("content_block_start") == types.count("content_block_stop")
