"""Errors: the provider's own come out as they were, the gateway's own in the shape of the API that was called."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx2
import pytest

Gateway = Callable[..., httpx2.Client]

CHAT = "/v1/chat/completions"
BODIES: dict[str, dict[str, Any]] = {
    CHAT: {"model": "ollama/m", "messages": []},
    "/v1/completions": {"model": "ollama/m", "prompt": "x"},
    "/v1/embeddings": {"model": "ollama/m", "input": "x"},
    "/v1/responses": {"model": "ollama/m"},
    "/v1/messages": {"model": "ollama/m", "max_tokens": 5, "messages": []},
}
TEXT = "nothing is recorded for this test"


def never(request: httpx2.Request) -> httpx2.Response:
    raise AssertionError(f"no provider should be asked: {request.url}")


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("path", BODIES)
def test_a_providers_error_comes_out_as_it_was_and_is_not_asked_for_again(
    gateway: Gateway, path: str, streamed: bool
) -> None:
    calls: list[httpx2.Request] = []

    def provider(request: httpx2.Request) -> httpx2.Response:
        calls.append(request)
        body = {"error": {"message": TEXT}, "message": TEXT}
        return httpx2.Response(424, json=body, headers={"x-should-retry": "false", "set-cookie": "a=b"})

    response = gateway(provider).post(path, json={**BODIES[path], "stream": streamed})
    assert response.status_code == 424
    assert response.json() == {"error": {"message": TEXT}, "message": TEXT}
    assert response.headers["x-should-retry"] == "false"
    assert "set-cookie" not in response.headers
    assert len(calls) == 1


def test_an_error_in_plain_text_keeps_its_text_and_its_wait(gateway: Gateway) -> None:
    def provider(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(429, text="slow down", headers={"retry-after": "2"})

    response = gateway(provider).post(CHAT, json=BODIES[CHAT])
    assert (response.status_code, response.text, response.headers["retry-after"]) == (429, "slow down", "2")
    assert response.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("path", BODIES)
def test_a_provider_that_cannot_be_reached_is_a_502_with_the_reason(
    gateway: Gateway, path: str, streamed: bool
) -> None:
    def provider(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("all connection attempts failed", request=request)

    response = gateway(provider).post(path, json={**BODIES[path], "stream": streamed})
    assert response.status_code == 502
    message = response.json()["error"]["message"]
    assert message == "The provider 'ollama' gave no answer: ConnectError: all connection attempts failed"


def test_a_provider_that_is_silent_too_long_is_a_504(gateway: Gateway) -> None:
    def provider(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ReadTimeout("timed out", request=request)

    assert gateway(provider).post(CHAT, json=BODIES[CHAT]).status_code == 504


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (httpx2.ReadError("reset by peer"), 502, "ReadError: reset by peer"),
        (httpx2.ReadError(""), 502, "ReadError"),
        (httpx2.ReadTimeout("timed out"), 504, "ReadTimeout: timed out"),
    ],
)
def test_an_answer_that_breaks_off_is_told_with_the_reason(
    gateway: Gateway, path: str, error: httpx2.HTTPError, status: int, reason: str
) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b'{"id": '
        raise error

    def provider(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, content=pieces(), headers={"content-type": "application/json"})

    response = gateway(provider).post(path, json=BODIES[path])
    assert response.status_code == status
    assert response.json()["error"]["message"] == f"The provider 'ollama' gave no answer: {reason}"


def test_a_list_of_models_fails_as_its_provider_fails(gateway: Gateway) -> None:
    def refuse(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(424, json={"error": {"message": TEXT}}, headers={"x-should-retry": "false"})

    def garble(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, json={"data": "none"})

    def unreachable(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused", request=request)

    response = gateway(refuse).get("/v1/models")
    assert (response.status_code, response.json()) == (424, {"error": {"message": TEXT}})
    assert gateway(garble).get("/v1/models").status_code == 502
    assert "refused" in gateway(unreachable).get("/v1/models").json()["error"]["message"]


@pytest.mark.parametrize("name", ["nobody/m", "m", "ollama", "ollama/", "/m", ""])
@pytest.mark.parametrize("path", BODIES)
def test_an_unknown_provider_or_a_name_without_one_is_not_found(gateway: Gateway, path: str, name: str) -> None:
    response = gateway(never).post(path, json={**BODIES[path], "model": name})
    assert response.status_code == 404
    error = response.json()["error"]
    assert repr(name) in error["message"]
    assert "ollama" in error["message"]
    assert error["type"] == "not_found_error"


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b'{"model": ', "JSON"),
        (b"", "JSON"),
        (b"\xff\xfe", "JSON"),
        (b'{"model": "ollama/m", "messages": [], "top_p": NaN}', "NaN"),
        (b'{"model": "ollama/m", "messages": ' + b"[" * 100_000, "JSON"),
        (b'{"model": "ollama/m", "messages": ["\\ud800"]}', "surrogate"),
        (b"[1]", "object"),
        (b'{"messages": []}', "'model'"),
        (b'{"model": 7, "messages": []}', "string"),
        (b'{"model": "ollama/m"}', "'messages'"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused_in_openais_shape(gateway: Gateway, content: bytes, word: str) -> None:
    response = gateway(never).post(CHAT, content=content)
    assert response.status_code == 400
    error = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["type"] == "invalid_request_error"
    assert word in error["message"]


def test_messages_refuses_in_anthropics_shape(gateway: Gateway) -> None:
    client = gateway(never)
    response = client.post("/v1/messages", json={"model": "ollama/m", "messages": []})
    assert response.status_code == 400
    assert response.json()["type"] == "error"
    assert "'max_tokens'" in response.json()["error"]["message"]


def test_messages_of_a_provider_without_them_are_not_found(gateway: Gateway) -> None:
    client = gateway(never, {"GROQ_URL": "http://groq.invalid/openai/v1"})
    response = client.post("/v1/messages", json={"model": "groq/m", "max_tokens": 5, "messages": []})
    assert response.status_code == 404
    assert "groq" in response.json()["error"]["message"]


@pytest.mark.parametrize(("method", "path", "status"), [("GET", CHAT, 405), ("GET", "/v1/nothing", 404)])
def test_addresses_that_are_not_there_are_errors_in_json(gateway: Gateway, method: str, path: str, status: int) -> None:
    response = gateway(never).request(method, path)
    assert response.status_code == status
    assert path in response.json()["error"]["message"]


def test_an_error_of_the_provider_within_a_stream_is_passed_on_as_an_event(gateway: Gateway) -> None:
    class Broken(httpx2.AsyncByteStream):
        async def __aiter__(self) -> Any:
            yield b'data: {"choices": []}\n\n'
            raise httpx2.ReadError("connection reset")

    def provider(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Broken())

    client = gateway(provider)
    text = client.post(CHAT, json={**BODIES[CHAT], "stream": True}).text
    first, second = text.strip().split("\n\n")
    assert first == 'data: {"choices": []}'
    assert "connection reset" in json.loads(second.removeprefix("data: "))["error"]["message"]
    text = client.post("/v1/messages", json={**BODIES["/v1/messages"], "stream": True}).text
    assert text.strip().split("\n\n")[1].startswith("event: error\n")


@pytest.mark.parametrize("provider", ["watsonx", "vertexai"])
def test_a_provider_whose_tokens_are_minted_is_named_with_the_reason(gateway: Gateway, provider: str) -> None:
    response = gateway(never).post(CHAT, json={**BODIES[CHAT], "model": f"{provider}/a/b"})
    assert response.status_code == 404
    assert response.json()["error"]["message"] == (
        f"The model '{provider}/a/b' is not served: the provider {provider!r} takes bearer tokens that another service "
        "mints from a key, which this gateway does not do."
    )
