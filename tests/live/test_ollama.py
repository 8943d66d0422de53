"""Ollama's own API: a chat in one piece, and one line by line to `done`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from stackproof.catalog.records import Wire

OPTIONS = {"num_predict": 256}
ENDS = {"stop", "length"}


@pytest.fixture
def model(speaking: Callable[[Wire], str]) -> str:
    """A model behind Ollama's own API."""
    return speaking(Wire.OLLAMA)


def check(last: dict[str, Any]) -> None:
    """What the end of an answer tells."""
    assert last["done"] is True, f"the answer ended with {last}"
    assert last["done_reason"] in ENDS
    assert last["message"]["role"] == "assistant"
    assert last["prompt_eval_count"] > 0
    assert last["eval_count"] > 0


def test_a_chat_is_whole(http_client: httpx2.Client, model: str) -> None:
    messages = [{"role": "user", "content": "Say hello."}]
    body = {"model": model, "messages": messages, "options": OPTIONS, "stream": False}
    response = http_client.post("/api/chat", json=body)
    assert response.status_code == 200, response.text
    check(response.json())


def test_a_stream_reaches_its_end(http_client: httpx2.Client, model: str) -> None:
    messages = [{"role": "user", "content": "Say hello again."}]
    body = {"model": model, "messages": messages, "options": OPTIONS}
    with http_client.stream("POST", "/api/chat", json=body) as response:
        told = response.read().decode() if response.status_code != 200 else ""
        assert response.status_code == 200, told
        assert response.headers["content-type"] == "application/x-ndjson"
        lines: list[dict[str, Any]] = [json.loads(line) for line in response.iter_lines()]
    assert lines
    check(lines[-1])
    assert not any(line["done"] for line in lines[:-1])
    assert {line["message"]["role"] for line in lines} == {"assistant"}
