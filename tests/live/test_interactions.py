"""Gemini's Interactions: one in one piece, and one event by event. Chat with Gemini's models is in test_chat.py."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import httpx2
import pytest

from stackproof.catalog.records import Wire

Posted = Callable[[str, Any], AbstractContextManager[httpx2.Response]]


@pytest.fixture
def model(speaking: Callable[[Wire], str]) -> str:
    """A model behind Interactions."""
    return speaking(Wire.INTERACTIONS)


def check(told: dict[str, Any]) -> None:
    """What belongs to an interaction that has ended."""
    assert told["id"]
    assert told["object"] == "interaction"
    assert told["status"] == "completed"
    assert told["usage"]["total_tokens"] > 0


def test_an_interaction_is_whole(posted: Posted, model: str) -> None:
    with posted("/v1/interactions", {"model": model, "input": "Say hello."}) as response:
        told = json.loads(response.read())
    check(told)
    assert [step for step in told["steps"] if step["type"] == "model_output"]


def test_a_stream_reaches_its_end(posted: Posted, model: str) -> None:
    body = {"model": model, "input": "Say hello again.", "stream": True}
    with posted("/v1/interactions", body) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        data = [line.removeprefix("data: ") for line in response.iter_lines() if line.startswith("data: ")]
    events: list[dict[str, Any]] = [json.loads(one) for one in data if one != "[DONE]"]
    types = [event["event_type"] for event in events]
    assert types
    assert types[0] == "interaction.created"
    assert types[-1] == "interaction.completed", f"the stream ended with {data[-1][:500]}"
    check(events[-1]["interaction"])
    assert events[0]["interaction"]["id"] == events[-1]["interaction"]["id"]
    assert types.count("step.start") == types.count("step.stop") > 0
