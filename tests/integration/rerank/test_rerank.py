"""Re-ranking: documents in the order of how well they answer a query."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

DOCUMENTS = [
    "Bread needs flour, water and salt.",
    "Pears grow on trees in the garden.",
    "The ship leaves the harbour at seven.",
]


def rank(client: httpx2.Client, model: str, query: str, **more: Any) -> dict[str, Any]:
    """The ranking."""
    response = client.post("/v1/rerank", json={"model": model, "query": query, "documents": DOCUMENTS, **more})
    assert response.status_code == 200, response.text
    told: dict[str, Any] = response.json()
    return told


def test_the_best_document_comes_first(http_client: httpx2.Client, rerank_model: str) -> None:
    told = rank(http_client, rerank_model, "Where do pears grow?")
    assert told["model"] == rerank_model
    scores = [one["relevance_score"] for one in told["results"]]
    assert scores == sorted(scores, reverse=True)
    assert told["results"][0]["index"] == 1
    assert sorted(one["index"] for one in told["results"]) == [0, 1, 2]


@pytest.mark.parametrize("top", [1, 2, 9])
def test_no_more_come_than_are_asked_for(http_client: httpx2.Client, rerank_model: str, top: int) -> None:
    told = rank(http_client, rerank_model, "When does the ship leave?", top_n=top)
    assert len(told["results"]) == min(top, len(DOCUMENTS))
    assert told["results"][0]["index"] == 2


def test_rankings_at_once_do_not_mix(http_client: httpx2.Client, rerank_model: str) -> None:
    queries = ["flour, water and salt", "trees in the garden", "harbour at seven"]
    with ThreadPoolExecutor(3) as pool:
        told = list(pool.map(lambda query: rank(http_client, rerank_model, query), queries))
    assert [one["results"][0]["index"] for one in told] == [0, 1, 2]


def test_the_providers_refusal_is_passed_on(http_client: httpx2.Client, rerank_model: str) -> None:
    response = http_client.post("/v1/rerank", json={"model": rerank_model, "query": "", "documents": DOCUMENTS})
    assert response.status_code == 400
    assert "query" in response.json()["error"]["message"]


def test_without_documents_nobody_is_asked(http_client: httpx2.Client, rerank_model: str) -> None:
    response = http_client.post("/v1/rerank", json={"model": rerank_model, "query": "x", "documents": []})
    assert (response.status_code, response.json()["error"]["param"]) == (400, "documents")
