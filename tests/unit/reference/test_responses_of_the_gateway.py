"""Responses in which the gateway has a part: what its provider is sent, and what its client gets."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from stackproof import catalog
from stackproof.recorder import rules
from stackproof.recorder.identity import describe, digest

Gateway = Callable[..., httpx2.Client]

ROOT = Path(__file__).parents[3]
ENVIRON = {"OLLAMA_URL": "http://ollama.invalid/v1", "REFERENCE_EMBEDDING_MODEL": "ollama/e"}
ASKED = {"model": "ollama/m", "input": "Who grows pears?"}
MESSAGE = {"type": "message", "id": "msg_p", "role": "assistant", "content": [{"type": "output_text", "text": "Ada."}]}


def sse(*events: dict[str, Any]) -> bytes:
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


class Provider:
    """Embeds by counting letters, answers with one message, and notes what it was asked."""

    def __init__(self, *, jitter: float = 0.0) -> None:
        self.jitter = jitter
        self.asked: list[dict[str, Any]] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        body = json.loads(request.content)
        if request.url.path.endswith("/embeddings"):
            vectors = [
                [float(text.lower().count(letter)) + self.jitter for letter in "aeprs"] for text in body["input"]
            ]
            data = [{"object": "embedding", "index": at, "embedding": vector} for at, vector in enumerate(vectors)]
            return httpx2.Response(200, json={"object": "list", "model": "e", "data": data})
        self.asked.append(body)
        response = {
            "id": "resp_provider",
            "object": "response",
            "status": "completed",
            "model": "m",
            "output": [],
            "unknown": [1.0],
        }
        whole = {**response, "output": [MESSAGE]}
        if not body.get("stream"):
            return httpx2.Response(200, json=whole)
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": response},
            {"type": "response.output_item.added", "item": MESSAGE},
            {"type": "response.output_text.delta", "item_id": "msg_p", "delta": "Äda."},
            {"type": "response.output_item.done", "item": MESSAGE},
            {"type": "response.completed", "response": whole},
        ]
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=headers, content=b": hello\n\n" + sse(*events) + b"data: [DONE]\n\n")


@pytest.fixture
def provider() -> Provider:
    return Provider()


@pytest.fixture
def client(gateway: Gateway, provider: Provider) -> httpx2.Client:
    return gateway(provider, ENVIRON)


def ask(client: httpx2.Client, **more: Any) -> dict[str, Any]:
    response = client.post("/v1/responses", json={**ASKED, **more})
    assert response.status_code == 200, response.text
    return dict(response.json())


def library(client: httpx2.Client) -> str:
    """A vector store with one file in it."""
    upload = client.post("/v1/files", files={"file": ("a.txt", b"Ada grows pears.")}, data={"purpose": "assistants"})
    store = client.post("/v1/vector_stores", json={"file_ids": [upload.json()["id"]]})
    assert store.status_code == 200, store.text
    return str(store.json()["id"])


@pytest.mark.parametrize("more", [{}, {"store": False}, {"store": None}, {"previous_response_id": None}])
def test_what_is_not_to_be_stored_is_passed_on_as_it_is(
    client: httpx2.Client, provider: Provider, more: dict[str, Any]
) -> None:
    assert ask(client, **more)["id"] == "resp_provider"
    assert provider.asked == [{**ASKED, "model": "m", **more}]


def test_a_stored_response_has_an_id_of_ours_and_all_else_of_the_provider(
    client: httpx2.Client, provider: Provider
) -> None:
    told = ask(client, store=True, temperature=0, metadata={"a": "b"})
    (asked,) = provider.asked
    assert asked["store"] is False, "kept here, not there"
    assert asked["temperature"] == 0
    assert told["id"].startswith("resp_")
    assert told["id"] != "resp_provider"
    assert (told["output"], told["unknown"]) == ([MESSAGE], [1.0])
    assert (told["store"], told["model"], told["metadata"]) == (True, "ollama/m", {"a": "b"})
    assert client.get(f"/v1/responses/{told['id']}").json() == told


def test_a_conversation_is_sent_as_a_whole(client: httpx2.Client, provider: Provider) -> None:
    first = ask(client, store=True)
    second = ask(client, store=True, input=[{"role": "user", "content": "More?"}], previous_response_id=first["id"])
    ask(client, input="And more?", previous_response_id=second["id"])
    assert provider.asked[-1]["input"] == [
        {"role": "user", "content": "Who grows pears?"},
        MESSAGE,
        {"role": "user", "content": "More?"},
        MESSAGE,
        {"role": "user", "content": "And more?"},
    ]
    assert all("previous_response_id" not in asked for asked in provider.asked)
    assert second["previous_response_id"] == first["id"]


def test_a_stream_has_one_id_and_is_stored_when_it_is_complete(client: httpx2.Client) -> None:
    text = client.post("/v1/responses", json={**ASKED, "store": True, "stream": True}).text
    blocks = text.split("\n\n")
    assert blocks[0] == ": hello"
    assert blocks[-2:] == ["data: [DONE]", ""]
    events = [json.loads(block.partition("data: ")[2]) for block in blocks if block.startswith("event: ")]
    assert [event["type"] for event in events][:2] == ["response.created", "response.output_item.added"]
    last = events[-1]["response"]
    assert events[0]["response"]["id"] == last["id"] != "resp_provider"
    assert client.get(f"/v1/responses/{last['id']}").json() == last


def test_what_ends_before_it_is_complete_is_not_stored(gateway: Gateway) -> None:
    def provider(request: httpx2.Request) -> httpx2.Response:
        content = sse({"type": "response.created", "response": {"id": "x", "output": []}}) + b"data: {"
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=content)

    client = gateway(provider, ENVIRON)
    text = client.post("/v1/responses", json={**ASKED, "store": True, "stream": True}).text
    name = json.loads(text.split("data: ")[1].partition("\n")[0])["response"]["id"]
    assert text.endswith("data: {\n\n")
    assert client.get(f"/v1/responses/{name}").status_code == 404


def test_an_error_of_the_provider_is_passed_on_and_nothing_is_stored(gateway: Gateway) -> None:
    def provider(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(424, json={"error": {"message": "nothing is there"}})

    response = gateway(provider, ENVIRON).post("/v1/responses", json={**ASKED, "store": True})
    assert (response.status_code, response.json()) == (424, {"error": {"message": "nothing is there"}})


def test_a_search_is_read_by_the_model_as_a_tools_result(client: httpx2.Client, provider: Provider) -> None:
    tools = [{"type": "file_search", "vector_store_ids": [library(client)]}, {"type": "function", "name": "f"}]
    told = ask(client, tools=tools, tool_choice={"type": "file_search"}, include=["file_search_call.results"])
    (asked,) = provider.asked
    question, call, result = asked["input"]
    assert question == {"role": "user", "content": "Who grows pears?"}
    assert (call["type"], call["name"]) == ("function_call", "file_search")
    assert call["call_id"] == result["call_id"]
    assert "Ada grows pears." in result["output"]
    assert asked["tools"] == tools[1:]
    assert "tool_choice" not in asked
    assert "include" not in asked
    search, message = told["output"]
    assert message["content"] == MESSAGE["content"]
    assert [one["text"] for one in search["results"]] == ["Ada grows pears."]
    assert told["tools"] == tools, "the caller's own"


def test_a_search_is_streamed_before_the_models_items(client: httpx2.Client) -> None:
    tools = [{"type": "file_search", "vector_store_ids": [library(client)]}]
    text = client.post("/v1/responses", json={**ASKED, "tools": tools, "stream": True}).text
    events = [json.loads(block.partition("data: ")[2]) for block in text.split("\n\n") if block.startswith("event: ")]
    places = [(event["type"].removeprefix("response."), event["output_index"]) for event in events[1:-1]]
    assert places == [
        ("output_item.added", 0),
        ("file_search_call.in_progress", 0),
        ("file_search_call.searching", 0),
        ("file_search_call.completed", 0),
        ("output_item.done", 0),
        ("output_item.added", 1),
        ("output_text.delta", 1),
        ("output_item.done", 1),
    ]
    numbers = [event["sequence_number"] for event in events]
    assert numbers == sorted(set(numbers))
    assert [item["type"] for item in events[-1]["response"]["output"]] == ["file_search_call", "message"]


@pytest.mark.parametrize(
    ("more", "status", "word"),
    [
        ({"previous_response_id": "resp_none"}, 400, "resp_none"),
        ({"store": True, "input": 7}, 400, "input"),
        ({"tools": [{"type": "file_search"}]}, 400, "vector_store_ids"),
        ({"tools": [{"type": "file_search", "vector_store_ids": ["vs_none"]}]}, 404, "vs_none"),
        ({"tools": [{"type": "file_search", "vector_store_ids": ["vs_none"]}], "input": []}, 400, "text of the user"),
    ],
)
def test_what_cannot_be_done_is_refused_before_a_provider_is_asked(
    client: httpx2.Client, provider: Provider, more: dict[str, Any], status: int, word: str
) -> None:
    response = client.post("/v1/responses", json={**ASKED, **more})
    assert response.status_code == status
    assert word in response.json()["error"]["message"]
    assert not provider.asked


def test_the_suites_rule_is_what_makes_a_search_the_same_request_on_another_machine(gateway: Gateway) -> None:
    def identities(jitter: float, text: str = "Who grows pears?") -> tuple[str, str]:
        provider = Provider(jitter=jitter)
        client = gateway(provider, ENVIRON)
        ask(client, input=text, tools=[{"type": "file_search", "vector_store_ids": [library(client)]}])
        body = provider.asked[0]
        for item in body["input"]:
            if "call_id" in item:
                item["call_id"] = "call_of_this_test"  # that of the run is the same in every run
        form = describe(
            provider="ollama",
            method="POST",
            path="/responses",
            query="",
            content_type="application/json",
            body=json.dumps(body).encode(),
        )
        return digest(form), digest(rules.apply(form, catalog.load(ROOT).suite("responses").rules))

    here, there = identities(0.0), identities(1e-7)
    assert here[0] != there[0], "scores and ids differ"
    assert here[1] == there[1], "and the rule says that they may"
    assert identities(0.0, "Who grows plums?")[1] != here[1], "another question is another request"
