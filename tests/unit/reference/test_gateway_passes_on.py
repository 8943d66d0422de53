"""What goes through the gateway comes out unchanged, but for the provider's name in front of the model."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

Gateway = Callable[..., httpx2.Client]

REQUESTS: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "é", "own": [None, 1.50]}], "stream": False},
    "/v1/completions": {"prompt": "x"},
    "/v1/embeddings": {"input": ["a"], "encoding_format": "base64"},
    "/v1/responses": {"input": "x", "store": None},
    "/v1/messages": {"max_tokens": 5, "messages": [{"role": "user", "content": "x"}], "temperature": 0},
}
UNKNOWN = {"min_p": 0.05, "nested": {"deep": [1, None]}, "timeout": 3, "extra_body": {"a": 1}, "self": "x"}


class Recorded:
    """A provider that notes every request and answers with one body."""

    def __init__(self, body: bytes = b'{"id":"a","unknown" : [1.0,null]}', **options: Any) -> None:
        self.requests: list[httpx2.Request] = []
        self.body = body
        self.options = options

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        options = {"status_code": 200, "headers": {"content-type": "application/json"}, **self.options}
        return httpx2.Response(content=self.body, **options)


@pytest.mark.parametrize("path", REQUESTS)
def test_the_provider_sees_the_bare_model_and_every_other_field_as_it_was(gateway: Gateway, path: str) -> None:
    provider = Recorded()
    body = {"model": "ollama/vendor/name:1b", **REQUESTS[path], **UNKNOWN}
    response = gateway(provider).post(path, json=body)
    (seen,) = provider.requests
    assert json.loads(seen.content) == {**body, "model": "vendor/name:1b"}
    assert str(seen.url).split("?")[0] == f"http://ollama.invalid{path}"
    assert response.status_code == 200


@pytest.mark.parametrize("path", REQUESTS)
def test_the_answer_is_passed_on_byte_for_byte(gateway: Gateway, path: str) -> None:
    provider = Recorded()
    response = gateway(provider).post(path, json={"model": "ollama/m", **REQUESTS[path]})
    assert response.content == provider.body
    assert response.headers["content-type"] == "application/json"


def test_a_stream_is_passed_on_byte_for_byte_with_its_event_names(gateway: Gateway) -> None:
    wire = b': ping\n\nevent: message_start\ndata: {"type": "message_start"}\n\nevent: own\r\ndata: x\r\n\r\ndata: last'
    provider = Recorded(wire, headers={"content-type": "text/event-stream; charset=utf-8"})
    response = gateway(provider).post(
        "/v1/messages", json={"model": "ollama/m", "max_tokens": 5, "messages": [], "stream": True}
    )
    assert response.content == wire
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert json.loads(provider.requests[0].content)["stream"] is True


def test_numbers_are_asked_for_when_the_caller_named_no_encoding(gateway: Gateway) -> None:
    provider = Recorded()
    gateway(provider).post("/v1/embeddings", json={"model": "ollama/m", "input": "x"})
    assert json.loads(provider.requests[0].content)["encoding_format"] == "float"


def test_a_beta_header_reaches_anthropics_api_and_nothing_of_the_caller_else_does(gateway: Gateway) -> None:
    provider = Recorded()
    body = {"model": "ollama/m", "max_tokens": 5, "messages": []}
    headers = {"anthropic-beta": "some-2030", "x-api-key": "the caller's", "x-provider-data": '{"a": "b"}'}
    gateway(provider).post("/v1/messages", json=body, headers=headers)
    (seen,) = provider.requests
    assert seen.headers["anthropic-beta"] == "some-2030"
    assert seen.headers["authorization"] == "Bearer no-key"
    assert "the caller's" not in str(seen.headers.raw)
    assert "x-provider-data" not in seen.headers


def test_each_provider_gets_its_own_key(gateway: Gateway) -> None:
    provider = Recorded()
    environ = {
        "OPENAI_BASE_URL": "http://openai.invalid/v1",
        "OPENAI_API_KEY": "key of one",
        "ANTHROPIC_BASE_URL": "http://anthropic.invalid",
        "ANTHROPIC_API_KEY": "key of other",
    }
    client = gateway(provider, environ)
    client.post("/v1/responses", json={"model": "openai/m", "input": "x"})
    client.post("/v1/messages", json={"model": "anthropic/m", "max_tokens": 5, "messages": []})
    client.post("/v1/chat/completions", json={"model": "anthropic/m", "messages": []})
    one, other, third = provider.requests
    assert (str(one.url), one.headers["authorization"]) == ("http://openai.invalid/v1/responses", "Bearer key of one")
    assert str(other.url) == "http://anthropic.invalid/v1/messages"
    assert other.headers["authorization"] == "Bearer key of other"
    assert str(third.url) == "http://anthropic.invalid/v1/chat/completions"


def test_models_of_all_providers_are_listed_with_their_own_fields(gateway: Gateway) -> None:
    def provider(request: httpx2.Request) -> httpx2.Response:
        assert request.url.path == "/v1/models"
        assert request.method == "GET"
        models = [{"id": "a/b", "meta": {"n": 1}}, {"id": "c", "object": "model", "created": 7}]
        return httpx2.Response(200, json={"object": "list", "data": models[: 1 if "vllm" in request.url.host else 2]})

    environ = {"VLLM_URL": "http://vllm.invalid/v1", "OLLAMA_URL": "http://ollama.invalid/v1/"}
    body = gateway(provider, environ).get("/v1/models").json()
    assert body == {
        "object": "list",
        "data": [
            {"object": "model", "id": "ollama/a/b", "meta": {"n": 1}},
            {"object": "model", "id": "ollama/c", "created": 7},
            {"object": "model", "id": "vllm/a/b", "meta": {"n": 1}},
        ],
    }


def test_anthropics_models_are_asked_for_in_its_own_way(gateway: Gateway) -> None:
    provider = Recorded(json.dumps({"data": [{"type": "model", "id": "m"}], "has_more": False}).encode())
    environ = {"ANTHROPIC_BASE_URL": "http://anthropic.invalid", "ANTHROPIC_API_KEY": "k"}
    body = gateway(provider, environ).get("/v1/models").json()
    assert [model["id"] for model in body["data"]] == ["anthropic/m"]
    assert provider.requests[0].headers["anthropic-version"]


def test_without_any_provider_the_gateway_is_healthy_and_has_no_models(gateway: Gateway) -> None:
    client = gateway(Recorded(), {})
    assert client.get("/v1/health").json() == {"status": "OK"}
    assert client.get("/v1/models").json() == {"object": "list", "data": []}
