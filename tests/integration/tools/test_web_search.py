"""`web_search` as a tool of Responses: the stack searches, and the model reads what was found."""

from __future__ import annotations

import asyncio
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from openai.types.responses import Response

SEARCH: Any = {"type": "web_search"}


def tool(**more: Any) -> Any:
    """The tool with options."""
    return {**SEARCH, **more}


def search_of(response: Response) -> Any:
    """The one search in the output."""
    (item,) = [item for item in response.output if item.type == "web_search_call"]
    return item


def test_a_search_is_done_and_told(openai_client: OpenAI, searching_model: str) -> None:
    response = openai_client.responses.create(
        model=searching_model, input="Who grows the best pears?", tools=[SEARCH], temperature=0
    )
    search = search_of(response)
    assert search.status == "completed"
    assert search.id.startswith("ws_")
    assert search.action.query == "Who grows the best pears?"
    assert [item.type for item in response.output] == ["web_search_call", "message"]
    assert response.output_text


def test_sources_are_shown_when_asked_for(openai_client: OpenAI, searching_model: str) -> None:
    response = openai_client.responses.create(
        model=searching_model,
        input="Where is the longest river?",
        tools=[tool(search_context_size="low")],
        include=["web_search_call.action.sources"],
        temperature=0,
    )
    sources = search_of(response).action.sources
    assert sources
    assert all(source.url.startswith("https://") for source in sources)


def test_only_allowed_domains_are_searched(openai_client: OpenAI, searching_model: str) -> None:
    response = openai_client.responses.create(
        model=searching_model,
        input="What is a domain?",
        tools=[tool(filters={"allowed_domains": ["example.org"]})],
        include=["web_search_call.action.sources"],
        temperature=0,
    )
    assert all("example.org" in source.url for source in search_of(response).action.sources)


def test_a_search_is_streamed_before_the_message(openai_client: OpenAI, searching_model: str) -> None:
    events = list(
        openai_client.responses.create(
            model=searching_model, input="Which lake is the deepest?", tools=[SEARCH], temperature=0, stream=True
        )
    )
    types: list[str] = [event.type for event in events]
    steps = [
        "response.created",
        "response.web_search_call.in_progress",
        "response.web_search_call.searching",
        "response.web_search_call.completed",
        "response.output_text.delta",
        "response.completed",
    ]
    assert [types.index(step) for step in steps] == sorted(types.index(step) for step in steps)
    assert [event.output_index for event in events if event.type == "response.output_item.done"] == [0, 1]


def test_a_conversation_goes_on_after_a_search(openai_client: OpenAI, searching_model: str) -> None:
    first = openai_client.responses.create(
        model=searching_model, input="Which sea is the saltiest?", tools=[SEARCH], store=True, temperature=0
    )
    second = openai_client.responses.create(
        model=searching_model, input="Say it again.", previous_response_id=first.id, temperature=0
    )
    assert second.output_text
    assert openai_client.responses.retrieve(first.id).output[0].type == "web_search_call"


def test_searches_at_once_get_their_own_pages(async_openai_client: AsyncOpenAI, searching_model: str) -> None:
    async def ask() -> list[str]:
        async with async_openai_client as client:
            answers = await asyncio.gather(
                *(
                    client.responses.create(model=searching_model, input=f"What is {word}?", tools=[SEARCH])
                    for word in ("moss", "peat")
                )
            )
        return [str(search_of(answer).action.query) for answer in answers]

    assert asyncio.run(ask()) == ["What is moss?", "What is peat?"]


def test_what_the_search_refuses_is_the_sdks_bad_request(openai_client: OpenAI, searching_model: str) -> None:
    with pytest.raises(openai.BadRequestError, match="too long"):
        openai_client.responses.create(model=searching_model, input="long " * 100, tools=[SEARCH])
