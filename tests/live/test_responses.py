"""OpenAI's Responses: one in one piece, and one event by event to the last."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from openai import OpenAI
from openai.types.responses import Response, ResponseCompletedEvent, ResponseIncompleteEvent

from stackproof.catalog.records import Wire

MOST = 1024
ENDS = {"completed", "incomplete"}


@pytest.fixture
def model(speaking: Callable[[Wire], str]) -> str:
    """A model behind Responses."""
    return speaking(Wire.RESPONSES)


def check(response: Response) -> None:
    """What belongs to a response that has ended."""
    assert response.id
    assert response.object == "response"
    assert response.error is None, response.error
    assert response.status in ENDS
    messages = [item for item in response.output if item.type == "message"]
    assert messages or response.status == "incomplete"
    for message in messages:
        assert message.id
        assert message.role == "assistant"
    assert response.usage is not None
    assert response.usage.input_tokens > 0
    assert response.usage.output_tokens > 0
    assert response.usage.total_tokens >= response.usage.input_tokens + response.usage.output_tokens


def test_a_response_is_whole(openai_client: OpenAI, model: str) -> None:
    check(openai_client.responses.create(model=model, input="Say hello.", max_output_tokens=MOST))


def test_a_stream_reaches_its_end(openai_client: OpenAI, model: str) -> None:
    events = list(
        openai_client.responses.create(model=model, input="Say hello again.", max_output_tokens=MOST, stream=True)
    )
    types: list[str] = [event.type for event in events]
    assert types
    assert types[0] == "response.created"
    last = events[-1]
    assert isinstance(last, ResponseCompletedEvent | ResponseIncompleteEvent), f"the stream ended with {last!r}"
    check(last.response)
    assert events[0].response.id == last.response.id  # type: ignore[union-attr]
    # What was begun was ended.
    for begun, ended in (("output_item.added", "output_item.done"), ("content_part.added", "content_part.done")):
        assert types.count(f"response.{begun}") == types.count(f"response.{ended}")
