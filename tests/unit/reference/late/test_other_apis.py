"""Ranking, interactions, Ollama's own API and the search of the web."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

if TYPE_CHECKING:
    from tests.unit.reference.late.conftest import Provider

RANK = {"model": "vllm/r", "query": "pears", "documents": ["apples", "pears"]}
CHAT = {"model": "ollama/m", "messages": [{"role": "user", "content": "Hi"}]}
SEARCH = {"model": "vllm/m", "input": "Who grows pears?", "tools": [{"type": "web_search"}]}
PAGES = [{"url": "https://a.example/1", "title": "A", "content": "Ada grows pears.", "score": 0.9}]
BODIES: dict[str, dict[str, Any]] = {
    "/v1/rerank": RANK,
    "/v1/interactions": {"model": "gemini/g", "input": "Hi"},
    "/v1/responses": SEARCH,
    "/api/chat": CHAT,
    "/api/generate": {"model": "ollama/m", "prompt": "Hi"},
    "/api/embed": {"model": "ollama/m", "input": "Hi"},
}


def message(response: httpx2.Response) -> str:
    error = response.json()["error"]
    return str(error if isinstance(error, str) else error["message"])


@pytest.mark.parametrize("path", BODIES)
def test_a_miss_comes_out_with_its_status_and_its_words(client: httpx2.Client, provider: Provider, path: str) -> None:
    provider.status, provider.body = 424, {"error": {"message": "nothing is there"}, "message": "nothing is there"}
    response = client.post(path, json=BODIES[path])
    assert response.status_code == 424
    assert "nothing is there" in message(response)
    assert len(provider.asked) == 1


@pytest.mark.parametrize("path", BODIES)
def test_nobody_at_the_address_is_a_502(client_of_nobody: httpx2.Client, path: str) -> None:
    response = client_of_nobody.post(path, json=BODIES[path])
    assert response.status_code == 502
    assert "gave no answer" in message(response)


@pytest.mark.parametrize("path", ["/v1/rerank", "/v1/interactions", "/api/chat"])
def test_an_unknown_provider_is_a_404(client: httpx2.Client, path: str) -> None:
    response = client.post(path, json={**BODIES[path], "model": "nobody/m"})
    assert (response.status_code, "nobody/m" in message(response)) == (404, True)


def test_documents_come_best_first_and_no_more_than_asked_for(client: httpx2.Client, provider: Provider) -> None:
    provider.body = {"results": [{"index": 0, "relevance_score": 0.1}, {"index": 1, "relevance_score": 0.8}]}
    told = client.post("/v1/rerank", json={**RANK, "top_n": 1}).json()
    assert told == {"model": "vllm/r", "results": [{"index": 1, "relevance_score": 0.8}]}
    (asked,) = provider.asked
    assert (asked.path, asked.body) == ("/v1/rerank", {**RANK, "model": "r", "top_n": 1})
    assert asked.headers["authorization"] == "Bearer a-token"


@pytest.mark.parametrize(
    "body", [{"results": [{"index": 9, "relevance_score": 1.0}]}, {"results": [{}]}, [], b"no JSON"]
)
def test_what_is_no_ranking_is_a_502(client: httpx2.Client, provider: Provider, body: Any) -> None:
    provider.body = body
    response = client.post("/v1/rerank", json=RANK)
    assert (response.status_code, "no ranking" in message(response)) == (502, True)


@pytest.mark.parametrize("more", [{"documents": []}, {"documents": "x"}, {"top_n": 0}, {"top_n": True}])
def test_a_ranking_that_cannot_be_made_is_refused(
    client: httpx2.Client, provider: Provider, more: dict[str, Any]
) -> None:
    assert client.post("/v1/rerank", json={**RANK, **more}).status_code == 400
    assert not provider.asked


@pytest.mark.parametrize("streamed", [False, True])
def test_an_interaction_is_passed_on_byte_for_byte(
    client: httpx2.Client, provider: Provider, *, streamed: bool
) -> None:
    provider.body = b'data: {"a":  1}\n\n' if streamed else b'{"a":  1}'
    provider.media_type = "text/event-stream" if streamed else "application/json"
    response = client.post("/v1/interactions", json={"model": "gemini/g", "input": "Hi", "stream": streamed})
    assert response.content == provider.body
    assert response.headers["content-type"].startswith(provider.media_type)
    (asked,) = provider.asked
    assert asked.path == "/v1beta/interactions"
    assert asked.body == {"model": "g", "input": "Hi", "stream": streamed}
    assert asked.headers["x-goog-api-key"] == "a-key"


def test_an_interaction_may_be_an_agents(client: httpx2.Client, provider: Provider) -> None:
    provider.body = {}
    assert client.post("/v1/interactions", json={"agent": "gemini/a", "input": "Hi"}).status_code == 200
    assert provider.asked[0].body["agent"] == "a"
    assert client.post("/v1/interactions", json={"model": "vllm/m", "input": "Hi"}).status_code == 404
    assert client.post("/v1/interactions", json={"input": "Hi"}).status_code == 400


def test_ollamas_stream_is_kept_line_by_line(client: httpx2.Client, provider: Provider) -> None:
    lines = [{"model": "m", "created_at": "t", "message": {"role": "assistant", "content": "Hi"}, "done": False}]
    lines.append({**lines[0], "done": True, "done_reason": "stop", "eval_count": 1})
    provider.media_type = "application/x-ndjson"
    provider.body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    response = client.post("/api/chat", json=CHAT)
    assert response.headers["content-type"] == "application/x-ndjson"
    assert [json.loads(line) for line in response.text.splitlines()] == lines
    assert provider.asked[0].body == {**CHAT, "model": "m", "stream": True, "tools": []}


def test_an_error_in_ollamas_stream_is_its_last_line(client: httpx2.Client, provider: Provider) -> None:
    begun = {"model": "m", "created_at": "t", "response": "Hi", "done": False}
    provider.body = json.dumps(begun).encode() + b'\n{"error": "out of memory"}\n'
    response = client.post("/api/generate", json={"model": "ollama/m", "prompt": "Hi"})
    assert [json.loads(line) for line in response.text.splitlines()] == [begun, {"error": "out of memory"}]


def test_ollamas_plain_answers_are_passed_on(client: httpx2.Client, provider: Provider) -> None:
    provider.body = {"model": "m", "embeddings": [[0.5, -1.0]], "total_duration": 3}
    assert client.post("/api/embed", json={"model": "ollama/m", "input": "Hi"}).json() == provider.body
    provider.body = {"model": "m", "created_at": "t", "response": "Hi", "done": True, "context": [1, 2]}
    assert client.post("/api/generate", json={"model": "ollama/m", "stream": False}).json() == provider.body
    assert client.post("/api/chat", json={**CHAT, "tempo": 3}).status_code == 400
    assert client.post("/api/chat", json={**CHAT, "model": "vllm/m"}).status_code == 404


@pytest.mark.parametrize("path", ["/api/tags", "/api/ps"])
def test_ollamas_models_have_the_names_that_they_have_here(
    client: httpx2.Client, provider: Provider, path: str
) -> None:
    provider.body = {"models": [{"name": "m", "model": "m", "size": 7, "digest": "d"}]}
    (model,) = client.get(path).json()["models"]
    assert model == {"name": "ollama/m", "model": "ollama/m", "size": 7, "digest": "d"}
    assert provider.asked[0].path == path


# The search and the model are at one address, and either finds what it needs in this.
BOTH = {"query": "q", "results": PAGES, "output": [], "id": "resp_p", "object": "response"}


def test_found_pages_are_what_the_model_reads(client: httpx2.Client, provider: Provider) -> None:
    provider.body = BOTH
    tool = {"type": "web_search", "search_context_size": "low", "filters": {"allowed_domains": ["a.example"]}}
    told = client.post("/v1/responses", json={**SEARCH, "tools": [tool]}).json()
    search, asked = provider.asked
    assert (search.path, search.headers["authorization"]) == ("/search", "Bearer a-key-for-search")
    assert search.body == {"query": "Who grows pears?", "max_results": 3, "include_domains": ["a.example"]}
    assert asked.path == "/v1/responses"
    assert "tools" not in asked.body
    assert asked.body["input"][-1]["output"].endswith("[1] A (https://a.example/1)\nAda grows pears.")
    (item,) = told["output"]
    assert (item["type"], item["status"]) == ("web_search_call", "completed")
    assert item["action"] == {"type": "search", "query": "Who grows pears?"}
    assert told["tools"] == [tool]


@pytest.mark.parametrize("kind", ["web_search", "web_search_preview", "web_search_2025_08_26"])
def test_sources_are_shown_to_whoever_asks_for_them(client: httpx2.Client, provider: Provider, kind: str) -> None:
    provider.body = BOTH
    body = {**SEARCH, "tools": [{"type": kind}], "include": ["web_search_call.action.sources"], "tool_choice": "auto"}
    (item,) = client.post("/v1/responses", json=body).json()["output"]
    assert item["action"]["sources"] == [{"type": "url", "url": "https://a.example/1"}]
    assert not {"include", "tools", "tool_choice"} & provider.asked[1].body.keys()


@pytest.mark.parametrize("status", [400, 401, 403, 429, 500])
def test_what_the_search_refuses_is_told(client: httpx2.Client, provider: Provider, status: int) -> None:
    provider.status, provider.body = status, {"detail": {"error": "no more"}}
    response = client.post("/v1/responses", json=SEARCH)
    assert response.status_code == status
    assert "no more" in message(response)


def test_nothing_of_this_is_imported_before_it_is_asked_for() -> None:
    code = (
        "import sys\nfrom reference_stack.app import create_app\ncreate_app({'GEMINI_BASE_URL': 'http://a'})\n"
        "print(*sorted({'google.genai', 'ollama', 'tavily'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={
        "PYTHONPATH": ":".join(sys.path)
    })  # fmt: skip
    assert done.stdout.strip() == ""
