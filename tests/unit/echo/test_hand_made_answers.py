"""The hand-made answers of the echo service: the same whenever they are asked for, and labelled where they are kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette

from echo_service import embeddings, interactions, ollama_api, rerank, responses, web_search
from stackproof.stack.inprocess import InProcessApp

RECORDINGS = Path(__file__).parents[3] / "recordings"
ASKED: dict[str, dict[str, Any]] = {
    "/v1/rerank": {"model": "r", "query": "red pears", "documents": ["apples", "Pears are red."]},
    "/v1/search": {"query": "pears"},
    "/v1/embeddings": {"model": "m", "input": ["a", ""]},
    "/v1/responses": {"model": "m", "input": [{"role": "user", "content": "Hi"}]},
    "/v1beta/interactions": {"model": "gemini-x", "input": "Hi"},
    "/api/chat": {"model": "echo", "messages": [{"role": "user", "content": "Hi"}], "stream": False},
    "/api/generate": {"model": "echo", "prompt": "Hi", "stream": False},
    "/api/embed": {"model": "echo", "input": ["a", ""]},
}


@pytest.mark.parametrize("path", ASKED)
def test_an_equal_request_has_an_equal_answer(path: str) -> None:
    modules = (embeddings, interactions, ollama_api, rerank, responses, web_search)
    routes = [route for module in modules for route in module.ROUTES]
    headers = {"authorization": "Bearer k"}
    with (
        InProcessApp(Starlette(routes=routes), close_grace=1.0) as running,
        httpx2.Client(transport=running.transport(), base_url="http://echo.invalid", headers=headers) as client,
    ):
        first, second = (client.post(path, json=ASKED[path]) for _ in range(2))
        assert first.status_code == 200, first.text
        assert first.content == second.content
        assert 400 <= client.post(path, json={}).status_code < 500


def test_a_score_is_the_part_of_the_querys_words() -> None:
    assert rerank.score("red pears", "Pears are red.") == 1.0
    assert rerank.score("red pears", "apples") == 0.0
    assert rerank.score("?", "apples") == 0.0


def test_what_no_model_answered_says_so() -> None:
    known = 0
    for file in RECORDINGS.rglob("*.json"):
        provenance = json.loads(file.read_text(encoding="utf-8"))["provenance"]
        if provenance["server"].startswith("echo service"):
            known += 1
            assert provenance["synthetic"] is True, file
    assert known
