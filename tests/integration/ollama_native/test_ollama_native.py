"""Ollama's own API, passed on through Ollama's client."""

from __future__ import annotations

import json
from typing import Any

import httpx2

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def post(client: httpx2.Client, path: str, **body: Any) -> dict[str, Any]:
    """The answer to a request that does not stream."""
    response = client.post(path, json=body)
    assert response.status_code == 200, response.text
    told: dict[str, Any] = response.json()
    return told


def lines_of(client: httpx2.Client, path: str, **body: Any) -> list[dict[str, Any]]:
    """The lines of a stream, which is what these paths give unless they are told not to."""
    with client.stream("POST", path, json=body) as response:
        assert response.status_code == 200
        assert response.headers["content-type"] == "application/x-ndjson"
        return [json.loads(line) for line in response.iter_lines()]


def test_a_chat_is_answered(http_client: httpx2.Client, native_model: str) -> None:
    messages = [{"role": "user", "content": "Name a river."}]
    told = post(http_client, "/api/chat", model=native_model, messages=messages, stream=False)
    assert told["message"]["role"] == "assistant"
    assert told["message"]["content"]
    assert (told["done"], told["done_reason"]) == (True, "stop")
    assert told["eval_count"] > 0


def test_a_chat_is_streamed_line_by_line(http_client: httpx2.Client, native_model: str) -> None:
    messages = [{"role": "user", "content": "Name a long river."}]
    *spoken, last = lines_of(http_client, "/api/chat", model=native_model, messages=messages)
    assert len(spoken) > 1
    assert not any(line["done"] for line in spoken)
    assert "".join(line["message"]["content"] for line in spoken)
    assert last["done"] is True


def test_a_tool_is_called_and_its_answer_taken(http_client: httpx2.Client, native_model: str) -> None:
    ask = {"role": "user", "content": "What is the weather in Paris?"}
    first = post(http_client, "/api/chat", model=native_model, messages=[ask], tools=[WEATHER], stream=False)
    (call,) = first["message"]["tool_calls"]
    assert (call["function"]["name"], call["function"]["arguments"]) == ("get_weather", {"city": "Paris"})
    turns = [ask, first["message"], {"role": "tool", "tool_name": "get_weather", "content": "It is sunny."}]
    second = post(http_client, "/api/chat", model=native_model, messages=turns, tools=[WEATHER], stream=False)
    assert second["message"]["content"]


def test_a_prompt_is_completed(http_client: httpx2.Client, native_model: str) -> None:
    options = {"temperature": 0, "num_predict": 8}
    told = post(http_client, "/api/generate", model=native_model, prompt="Once upon", options=options, stream=False)
    assert told["response"]
    assert told["done"] is True


def test_a_prompt_is_completed_line_by_line(http_client: httpx2.Client, native_model: str) -> None:
    lines = lines_of(http_client, "/api/generate", model=native_model, prompt="There was a")
    assert "".join(line["response"] for line in lines)
    assert [line["done"] for line in lines].index(True) == len(lines) - 1


def test_texts_become_vectors(
    http_client: httpx2.Client, native_embedding_model: str, embedding_dimension: int
) -> None:
    told = post(http_client, "/api/embed", model=native_embedding_model, input=["pears", "a ship"])
    assert [len(vector) for vector in told["embeddings"]] == [embedding_dimension] * 2
    assert told["embeddings"][0] != told["embeddings"][1]


def test_models_are_listed_by_the_names_that_they_have_here(http_client: httpx2.Client, native_model: str) -> None:
    for path in ("/api/tags", "/api/ps"):
        response = http_client.get(path)
        assert response.status_code == 200, response.text
        assert native_model in [model["model"] for model in response.json()["models"]]


def test_a_model_that_is_not_there_is_a_404(http_client: httpx2.Client, native_model: str) -> None:
    provider = native_model.partition("/")[0]
    for streamed in (False, True):
        body: dict[str, Any] = {"model": f"{provider}/no-such-model", "messages": [], "stream": streamed}
        response = http_client.post("/api/chat", json=body)
        assert response.status_code == 404
        assert "not found" in response.json()["error"]
