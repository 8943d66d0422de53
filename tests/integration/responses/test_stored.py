"""Responses that the stack stores, and goes on from by itself: not every provider can."""

from __future__ import annotations

import asyncio

import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from openai.types.responses import Response, ResponseCompletedEvent, ResponseIncompleteEvent

# Cut at max_output_tokens, an answer is incomplete; not every provider says so.
ENDINGS = (ResponseCompletedEvent, ResponseIncompleteEvent)


def ask(client: OpenAI, model: str, text: str, previous: Response | None = None) -> Response:
    """A stored response."""
    return client.responses.create(
        model=model,
        input=text,
        previous_response_id=previous.id if previous else None,
        store=True,
        temperature=0,
        max_output_tokens=16,
    )


def test_a_stored_response_is_had_again(openai_client: OpenAI, text_model: str) -> None:
    response = ask(openai_client, text_model, "Name a river.")
    assert response.id.startswith("resp_")
    assert response.model == text_model
    assert response.output_text
    again = openai_client.responses.retrieve(response.id)
    assert again.to_dict() == response.to_dict()


def test_two_stored_responses_to_one_question_are_two(openai_client: OpenAI, text_model: str) -> None:
    one, other = (ask(openai_client, text_model, "Name a lake.") for _ in range(2))
    assert one.id != other.id
    assert openai_client.responses.retrieve(one.id).id == one.id


def test_a_conversation_goes_on_from_a_stored_response(openai_client: OpenAI, text_model: str) -> None:
    first = ask(openai_client, text_model, "My cat is called Minka.")
    second = ask(openai_client, text_model, "What is my cat called?", first)
    assert second.previous_response_id == first.id
    assert first.usage is not None
    assert second.usage is not None
    assert second.usage.input_tokens > first.usage.total_tokens, "the model reads the first turn too"
    third = ask(openai_client, text_model, "And again?", second)
    assert third.usage is not None
    assert third.usage.input_tokens > second.usage.total_tokens


def test_two_conversations_branch_from_one_response(openai_client: OpenAI, text_model: str) -> None:
    root = ask(openai_client, text_model, "We talk about trees.")
    one, other = (ask(openai_client, text_model, text, root) for text in ("Name one.", "Name another."))
    assert one.previous_response_id == other.previous_response_id == root.id
    assert root.usage is not None
    assert one.usage is not None
    assert other.usage is not None
    assert min(one.usage.input_tokens, other.usage.input_tokens) > root.usage.total_tokens


def test_a_response_that_is_not_to_be_stored_can_go_on_too(openai_client: OpenAI, text_model: str) -> None:
    first = ask(openai_client, text_model, "I live in Riga.")
    second = openai_client.responses.create(
        model=text_model,
        input="Where do I live?",
        previous_response_id=first.id,
        store=False,
        temperature=0,
        max_output_tokens=16,
    )
    with pytest.raises(openai.NotFoundError):
        openai_client.responses.retrieve(second.id)


def test_input_items_are_listed(openai_client: OpenAI, text_model: str) -> None:
    response = openai_client.responses.create(
        model=text_model,
        input=[{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "Name a bird."}],
        store=True,
        temperature=0,
        max_output_tokens=16,
    )
    items = openai_client.responses.input_items.list(response.id, order="asc").data
    assert [item.type for item in items] == ["message", "message"]
    assert [getattr(item, "role", None) for item in items] == ["developer", "user"]
    assert all(str(item.id).startswith("msg_") for item in items)
    newest = openai_client.responses.input_items.list(response.id, limit=1).data
    assert [item.id for item in newest] == [items[-1].id]


def test_a_deleted_response_is_gone(openai_client: OpenAI, text_model: str) -> None:
    response = ask(openai_client, text_model, "Name a stone.")
    openai_client.responses.delete(response.id)
    with pytest.raises(openai.NotFoundError) as gone:
        openai_client.responses.retrieve(response.id)
    with pytest.raises((openai.BadRequestError, openai.NotFoundError)) as lost:
        ask(openai_client, text_model, "And another?", response)
    assert response.id in gone.value.response.text
    assert response.id in lost.value.response.text
    if isinstance(lost.value, openai.BadRequestError):
        assert lost.value.code == "previous_response_not_found"


def test_a_streamed_response_is_stored_when_it_is_complete(openai_client: OpenAI, text_model: str) -> None:
    events = list(
        openai_client.responses.create(
            model=text_model, input="Name a flower.", store=True, temperature=0, max_output_tokens=16, stream=True
        )
    )
    assert events[0].type == "response.created"
    last = events[-1]
    assert isinstance(last, ENDINGS)
    ids = {event.response.id for event in events if event.type == "response.created" or isinstance(event, ENDINGS)}
    assert ids == {last.response.id}
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    stored = openai_client.responses.retrieve(last.response.id)
    assert stored.output_text == text == last.response.output_text


def test_a_streamed_response_can_be_gone_on_from(async_openai_client: AsyncOpenAI, text_model: str) -> None:
    async def converse() -> tuple[Response, Response]:
        async with async_openai_client as client:
            stream = await client.responses.create(
                model=text_model, input="I sail.", store=True, temperature=0, max_output_tokens=16, stream=True
            )
            responses = [event.response async for event in stream if isinstance(event, ENDINGS)]
            second = await client.responses.create(
                model=text_model,
                input="What do I do?",
                previous_response_id=responses[0].id,
                temperature=0,
                max_output_tokens=16,
            )
            return responses[0], second

    first, second = asyncio.run(converse())
    assert first.usage is not None
    assert second.usage is not None
    assert second.usage.input_tokens > first.usage.total_tokens


def test_a_called_tool_and_its_result_belong_to_the_conversation(openai_client: OpenAI, tool_model: str) -> None:
    weather = {
        "type": "function",
        "name": "get_weather",
        "description": "The weather in a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        "strict": False,
    }
    first = openai_client.responses.create(
        model=tool_model,
        input="What is the weather in Paris?",
        tools=[weather],  # type: ignore[list-item]
        store=True,
        temperature=0,
        max_output_tokens=32,
    )
    (call,) = [item for item in first.output if item.type == "function_call"]
    second = openai_client.responses.create(
        model=tool_model,
        previous_response_id=first.id,
        input=[{"type": "function_call_output", "call_id": call.call_id, "output": "clear, 21 °C"}],
        tools=[weather],  # type: ignore[list-item]
        temperature=0,
        max_output_tokens=32,
    )
    assert second.output_text


def test_an_unknown_response_is_not_found(openai_client: OpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as one:
        openai_client.responses.retrieve("resp_nothing")
    with pytest.raises(openai.NotFoundError) as other:
        openai_client.responses.input_items.list("resp_nothing")
    assert all("resp_nothing" in caught.value.response.text for caught in (one, other))
