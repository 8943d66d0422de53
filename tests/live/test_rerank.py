"""Re-ranking, as vLLM, Jina and Cohere shape it."""

from __future__ import annotations

from collections.abc import Callable

import httpx2

from stackproof.catalog.records import ModelRole, Wire

DOCUMENTS = ["Bread needs flour, water and salt.", "Pears grow on trees.", "The ship leaves at seven."]


def test_each_document_is_ranked(
    http_client: httpx2.Client, speaking: Callable[[Wire], str], in_role: Callable[[ModelRole], str]
) -> None:
    speaking(Wire.RERANK)
    body = {"model": in_role(ModelRole.RERANK), "query": "Where do pears grow?", "documents": DOCUMENTS}
    response = http_client.post("/v1/rerank", json=body)
    assert response.status_code == 200, response.text
    results = response.json()["results"]
    assert sorted(one["index"] for one in results) == [0, 1, 2]
    scores = [one["relevance_score"] for one in results]
    assert scores == sorted(scores, reverse=True)
