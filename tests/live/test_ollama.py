"""Ollama's own API: a chat in one piece, and one line by line to `done`."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import httpx2
import pytest

from stackproof.catalog.records import Wire

Posted = Callable[[str, Any], AbstractContextManager[httpx2.Response]]
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


def test_a_chat_is_whole(posted: Posted, model: str) -> None:
    messages = [{"role": "user", "content": "Say hello."}]
    body = {"model": model, "messages": messages, "options": OPTIONS, "stream": False}
    with posted("/api/chat", body) as response:
        check(json.loads(response.read()))


def test_a_stream_reaches_its_end(posted: Posted, model: str) -> None:
    messages = [{"role": "user", "content": "Say hello again."}]
    body = {"model": model, "messages": messages, "options": OPTIONS}
    with posted("/api/chat", body) as response:
        assert response.headers["content-type"] == "application/x-ndjson"
        lines: list[dict[str, Any]] = [json.loads(line) for line in response.iter_lines()]
    assert lines
    check(lines[-1])
    assert not any(line["done"] for line in lines[:-1])
    assert {line["message"]["role"] for line in lines} == {"assistant"}
