"""`file_search`: the stack looks for it, the model reads what was found."""

from __future__ import annotations

import asyncio

import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from openai.types.responses import FileSearchToolParam, Response, ResponseFileSearchToolCall


def tool(library: str, **more: int) -> FileSearchToolParam:
    """The tool, for one vector store."""
    return {"type": "file_search", "vector_store_ids": [library], **more}  # type: ignore[typeddict-item]


def search_of(response: Response) -> ResponseFileSearchToolCall:
    """The one search of a response, which comes before its message."""
    search, message = response.output
    assert search.type == "file_search_call"
    assert message.type == "message"
    return search


def test_the_model_reads_what_was_found(openai_client: OpenAI, text_model: str, library: str) -> None:
    question = "What does Ada grow in her garden?"
    response = openai_client.responses.create(
        model=text_model, input=question, tools=[tool(library)], temperature=0, max_output_tokens=16
    )
    search = search_of(response)
    assert (search.status, search.queries, search.results) == ("completed", [question], None)
    assert response.output_text
    assert response.usage is not None
    plain = openai_client.responses.create(model=text_model, input=question, temperature=0, max_output_tokens=16)
    assert plain.usage is not None
    assert response.usage.input_tokens > plain.usage.input_tokens + 20


def test_results_are_shown_when_asked_for(openai_client: OpenAI, text_model: str, library: str) -> None:
    response = openai_client.responses.create(
        model=text_model,
        input="The ship Aurora leaves the harbour at seven.",
        tools=[tool(library, max_num_results=1)],
        include=["file_search_call.results"],
        temperature=0,
        max_output_tokens=16,
    )
    results = search_of(response).results
    assert results is not None
    (found,) = results
    assert found.filename == "ship.txt"
    assert found.file_id is not None
    assert found.file_id.startswith("file-")
    assert found.score is not None
    assert found.score > 0.5
    assert found.text is not None
    assert "Aurora" in found.text


def test_a_search_is_streamed_before_the_message(openai_client: OpenAI, text_model: str, library: str) -> None:
    events = list(
        openai_client.responses.create(
            model=text_model,
            input="Where does Ada grow pears?",
            tools=[tool(library)],
            temperature=0,
            max_output_tokens=16,
            stream=True,
        )
    )
    types: list[str] = [event.type for event in events]
    steps = [
        "response.created",
        "response.file_search_call.in_progress",
        "response.file_search_call.searching",
        "response.file_search_call.completed",
        "response.output_text.delta",
        types[-1],
    ]
    assert [types.index(step) for step in steps] == sorted(types.index(step) for step in steps)
    indexes = [event.output_index for event in events if event.type == "response.output_item.done"]
    assert indexes == [0, 1]
    last = events[-1]
    # Cut at max_output_tokens, an answer is incomplete; not every provider says so.
    assert last.type in ("response.completed", "response.incomplete")
    assert search_of(last.response).status == "completed"


def test_what_was_found_stays_in_a_stored_conversation(openai_client: OpenAI, text_model: str, library: str) -> None:
    first = openai_client.responses.create(
        model=text_model,
        input="When does the Aurora leave?",
        tools=[tool(library)],
        store=True,
        temperature=0,
        max_output_tokens=16,
    )
    assert openai_client.responses.retrieve(first.id).to_dict() == first.to_dict()
    second = openai_client.responses.create(
        model=text_model, input="Say it again.", previous_response_id=first.id, temperature=0, max_output_tokens=16
    )
    assert first.usage is not None
    assert second.usage is not None
    assert second.usage.input_tokens > first.usage.input_tokens


def test_an_async_client_searches_too(async_openai_client: AsyncOpenAI, text_model: str, library: str) -> None:
    async def ask() -> Response:
        async with async_openai_client as client:
            return await client.responses.create(
                model=text_model, input="Who grows pears?", tools=[tool(library)], temperature=0, max_output_tokens=16
            )

    assert search_of(asyncio.run(ask())).queries == ["Who grows pears?"]


def test_a_search_that_cannot_be_done_is_refused(openai_client: OpenAI, text_model: str) -> None:
    with pytest.raises(openai.NotFoundError, match="vs_nothing"):
        openai_client.responses.create(model=text_model, input="Hello?", tools=[tool("vs_nothing")])
    with pytest.raises(openai.BadRequestError, match="vector_store_ids"):
        openai_client.responses.create(
            model=text_model, input="Hello?", tools=[{"type": "file_search", "vector_store_ids": []}]
        )
