"""Re-ranking, as vLLM, Jina and Cohere shape it."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import httpx2

from stackproof.catalog.records import ModelRole, Wire

Posted = Callable[[str, Any], AbstractContextManager[httpx2.Response]]
DOCUMENTS = ["Bread needs flour, water and salt.", "Pears grow on trees.", "The ship leaves at seven."]


def test_each_document_is_ranked(
    posted: Posted, speaking: Callable[[Wire], str], in_role: Callable[[ModelRole], str]
) -> None:
    speaking(Wire.RERANK)
    body = {"model": in_role(ModelRole.RERANK), "query": "Where do pears grow?", "documents": DOCUMENTS}
    with posted("/v1/rerank", body) as response:
        results = json.loads(response.read())["results"]
    assert sorted(one["index"] for one in results) == [0, 1, 2]
    scores = [one["relevance_score"] for one in results]
    assert scores == sorted(scores, reverse=True)
