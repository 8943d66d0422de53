"""A search of the web as a tool of Responses: it is done, its sources are told, and the model speaks after it."""

from __future__ import annotations

from openai import OpenAI

MOST = 1024


def test_a_search_is_done_and_the_response_is_whole(openai_client: OpenAI, searching_model: str) -> None:
    response = openai_client.responses.create(
        model=searching_model,
        input="Where is the longest river?",
        tools=[{"type": "web_search", "search_context_size": "low"}],
        include=["web_search_call.action.sources"],
        max_output_tokens=MOST,
    )
    assert response.error is None, response.error
    assert response.status in {"completed", "incomplete"}
    (search,) = [item for item in response.output if item.type == "web_search_call"]
    assert search.id
    assert search.status == "completed"
    assert search.action.type == "search"
    assert search.action.sources
    assert all(source.url.startswith(("https://", "http://")) for source in search.action.sources)
    assert response.output[-1].type == "message" or response.status == "incomplete"
    assert response.usage is not None
