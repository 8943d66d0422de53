"""Search in vector stores: nearest first, within the limits that were given."""

from __future__ import annotations

from collections.abc import Callable

import httpx2
import pytest
from openai import OpenAI


def test_everything_is_found_the_nearest_first(openai_client: OpenAI, library: str) -> None:
    page = openai_client.vector_stores.search(library, query="The ship Aurora leaves the harbour at seven.")
    scores = [each.score for each in page.data]
    assert scores == sorted(scores, reverse=True)
    assert all(-1 <= score <= 1.0001 for score in scores)
    assert len({each.file_id for each in page.data}) == 3
    assert page.data[0].filename == "ship.txt"
    assert page.data[0].content[0].text.startswith("The ship Aurora")


def test_a_text_is_nearest_to_itself(openai_client: OpenAI, library: str) -> None:
    text = "Bread needs flour, water, salt, yeast and a hot oven."
    (found,) = openai_client.vector_stores.search(library, query=text, max_num_results=1).data
    assert found.filename == "bread.txt"
    assert found.score == pytest.approx(1.0, abs=1e-3)


def test_several_questions_are_asked_at_once(openai_client: OpenAI, library: str) -> None:
    page = openai_client.vector_stores.search(
        library,
        query=["Ada grows pears and plums in her garden behind the mill.", "Bread needs flour, water, salt and yeast."],
        max_num_results=2,
    )
    assert {each.filename for each in page.data} == {"garden.txt", "bread.txt"}


def test_a_threshold_keeps_the_rest_out(openai_client: OpenAI, library: str) -> None:
    text = "Ada grows pears and plums in her garden behind the mill."
    (found,) = openai_client.vector_stores.search(library, query=text, ranking_options={"score_threshold": 0.99}).data
    assert found.filename == "garden.txt"


def test_attributes_choose_the_files(openai_client: OpenAI, upload: Callable[[str], str], embedding_model: str) -> None:
    store = openai_client.vector_stores.create()
    for name, year in (("garden.txt", 1998), ("ship.txt", 2004), ("bread.txt", 2011)):
        attributes: dict[str, str | float | bool] = {"year": year, "name": name}
        openai_client.vector_stores.files.create(store.id, file_id=upload(name), attributes=attributes)
    found = openai_client.vector_stores.search(
        store.id,
        query="water",
        filters={
            "type": "and",
            "filters": [
                {"type": "gte", "key": "year", "value": 2000},
                {"type": "ne", "key": "name", "value": "ship.txt"},
            ],
        },
    )
    assert [each.attributes for each in found.data] == [{"year": 2011, "name": "bread.txt"}]


@pytest.mark.parametrize("question", ["Where is the harbour?", "When does it leave?"])
def test_a_store_of_the_whole_session_answers_every_test(openai_client: OpenAI, shelf: str, question: str) -> None:
    (found,) = openai_client.vector_stores.search(shelf, query=question).data
    assert found.filename == "ship.txt"


def test_nothing_is_found_in_an_empty_store(openai_client: OpenAI, embedding_model: str) -> None:
    store = openai_client.vector_stores.create()
    assert openai_client.vector_stores.search(store.id, query="anything").data == []


@pytest.mark.parametrize(
    "body",
    [{}, {"query": 7}, {"query": []}, {"query": "x", "max_num_results": 51}, {"query": "x", "filters": {"type": "is"}}],
    ids=["no query", "a number", "no texts", "too many results", "an unknown filter"],
)
def test_a_search_that_makes_no_sense_is_a_bad_request(
    http_client: httpx2.Client, shelf: str, body: dict[str, object]
) -> None:
    response = http_client.post(f"/v1/vector_stores/{shelf}/search", json=body)
    assert response.status_code == 400
    assert response.json()["error"]["message"]
