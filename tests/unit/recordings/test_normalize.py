"""A file as it would be written today: the rule table, headers, secrets and layout, and never a request or an id."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from stackproof.recorder import miss, recording
from stackproof.recorder.identity import digest
from stackproof.recordings.normalising import Change, changes, normalized

REAL = "chatcmpl-4f1e7a9c2b"


def content(**response: Any) -> dict[str, Any]:
    """A recording as an old version, or another tool, may have left it."""
    return {
        "scope": "tests/a.py::test_a",
        "format": 1,
        "test_id": "tests/a.py::test_a",
        "request": {
            "body": {"json": {"model": "m", "created": 7, "api_key": "written by hand"}},
            "provider": "p", "method": "POST", "url": "{P_URL}/chat/completions", "path": "/chat/completions",
            "query": [], "endpoint": "/chat/completions", "model": "m", "headers": {},
        },
        "response": {
            "headers": {"content-type": "application/json", "date": "today", "x-request-id": "1"}, "status": 200,
            "is_streaming": False, "body": None, "complete": True, "is_exception": False, "exception": None, **response,
        },
        "rules": [],
        "provenance": {"recorded_at": "2026-01-01T00:00:00+00:00"},
        "id_normalization_mapping": {},
    }  # fmt: skip


def chat(**more: Any) -> dict[str, Any]:
    """A chat completion as the provider said it."""
    return {
        "id": REAL, "object": "chat.completion", "created": 1234, "choices": [], "timings": {"a": 1.5, "b": [2]},
        "usage": {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 8}}, **more,
    }  # fmt: skip


def test_times_counts_headers_and_secrets_become_what_is_written_today() -> None:
    before = content(body={"json": chat(echo={"api_key": "sesame"})})
    after = normalized(before)
    answer = after["response"]["body"]["json"]
    assert (answer["created"], answer["timings"]["a"]) == (0, 0)
    assert answer["usage"] == {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 0}}
    assert answer["echo"] == {"api_key": "***"}
    assert after["response"]["headers"] == {"content-type": "application/json"}
    assert changes(before, after) == (
        Change(rule="response-headers", path="response.headers.date"),
        Change(rule="response-headers", path="response.headers.x-request-id"),
        Change(rule="completion-created", path="response.body.json.created"),
        Change(rule="llama-cpp-timings", path="response.body.json.timings.a"),
        Change(rule="cached-tokens", path="response.body.json.usage.prompt_tokens_details.cached_tokens"),
        Change(rule="secret-fields", path="response.body.json.echo.api_key"),
    )


def test_an_id_is_data_and_a_request_is_not_touched() -> None:
    before = content(body={"json": chat()})
    kept = deepcopy(before)
    after = normalized(before)
    assert before == kept, "the argument is somebody else's"
    assert after["response"]["body"]["json"]["id"] == REAL
    assert after["request"] == before["request"]
    assert digest(miss.form_of(after["request"])) == digest(miss.form_of(before["request"]))


def test_events_of_a_stream_are_told_once_with_their_number() -> None:
    event = {"type": "response.created", "response": {"id": "resp_1", "created_at": 5, "output": []}}
    before = content(framing="sse", events=[{"data": deepcopy(event)}, {"data": deepcopy(event)}, {"text": "[DONE]"}])
    before["response"].pop("body")
    before["response"]["headers"] = {}
    after = normalized(before)
    assert [item.get("data", {}).get("response", {}).get("created_at") for item in after["response"]["events"]] == [
        0, 0, None,
    ]  # fmt: skip
    assert after["response"]["events"][0]["data"]["response"]["id"] == "resp_1"
    assert changes(before, after) == (
        Change(rule="response-times", path="response.events[].data.response.created_at", count=2),
    )


def test_keys_come_in_the_order_of_the_recorder_and_a_second_time_changes_nothing() -> None:
    before = {**content(body={"json": chat()}), "note": "by hand"}
    once = normalized(before)
    assert list(once) == [
        "format", "test_id", "scope", "request", "response", "rules", "provenance", "id_normalization_mapping", "note",
    ]  # fmt: skip
    assert list(once["request"])[:4] == ["provider", "method", "url", "path"]
    assert list(once["response"])[:2] == ["status", "headers"]
    assert recording.dumps(normalized(once)) == recording.dumps(once)
    assert changes(once, normalized(once)) == ()
