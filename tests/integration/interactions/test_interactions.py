"""Gemini's Interactions API, passed on as it is."""

from __future__ import annotations

import json
from typing import Any

import httpx2


def events_of(text: str) -> list[Any]:
    """The JSON of each event, without the last one that only says that it is over."""
    data = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    return [json.loads(one) for one in data if one != "[DONE]"]


def test_an_interaction_is_answered(http_client: httpx2.Client, gemini_model: str) -> None:
    response = http_client.post("/v1/interactions", json={"model": gemini_model, "input": "Name a river."})
    assert response.status_code == 200, response.text
    told = response.json()
    assert told["id"]
    assert told["status"] == "completed"
    (step,) = [step for step in told["steps"] if step["type"] == "model_output"]
    assert step["content"][0]["text"]
    assert told["usage"]["total_tokens"] > 0


def test_a_stream_has_its_events_in_order(http_client: httpx2.Client, gemini_model: str) -> None:
    body = {"model": gemini_model, "input": "Name a lake.", "stream": True}
    with http_client.stream("POST", "/v1/interactions", json=body) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        text = "".join(response.iter_text())
    events = events_of(text)
    types = [event["event_type"] for event in events]
    assert types[0] == "interaction.created"
    assert types[-1] == "interaction.completed"
    assert types.index("step.start") < types.index("step.delta") < types.index("step.stop")
    assert "".join(event["delta"]["text"] for event in events if event["event_type"] == "step.delta")
    assert events[0]["interaction"]["id"] == events[-1]["interaction"]["id"]


def test_parts_are_taken_as_input(http_client: httpx2.Client, gemini_model: str) -> None:
    parts = [{"type": "text", "text": "Look."}, {"type": "text", "text": "Name a hill."}]
    response = http_client.post("/v1/interactions", json={"model": gemini_model, "input": parts})
    assert response.status_code == 200, response.text
    assert response.json()["status"] == "completed"


def test_googles_refusal_is_passed_on(http_client: httpx2.Client, gemini_model: str) -> None:
    response = http_client.post("/v1/interactions", json={"model": "gemini/no-such-model", "input": "Hi"})
    assert response.status_code == 404
    assert response.json()["error"]["message"]


def test_what_names_no_model_is_refused_by_the_stack(http_client: httpx2.Client, gemini_model: str) -> None:
    response = http_client.post("/v1/interactions", json={"input": "Hi"})
    assert (response.status_code, response.json()["error"]["param"]) == (400, "model")
