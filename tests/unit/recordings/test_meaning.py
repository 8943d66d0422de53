"""What an answer says is the same on every wire, whole or in pieces."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stackproof.recordings.draft import ToolCall, Wire
from stackproof.recordings.meaning import Meaning, meaning


def said(*, json_body: Any = None, events: list[Any] | None = None, framing: str = "sse", **more: Any) -> Meaning:
    """The meaning of an answer: a JSON body, or a stream of events."""
    response: dict[str, Any] = {
        "status": 200,
        "headers": {},
        "is_streaming": events is not None,
        "complete": True,
        "is_exception": False,
        "exception": None,
    }
    if events is not None:
        response |= {"framing": framing, "events": events}
    elif "body" not in more:
        response["body"] = {"json": json_body}
    return meaning({"request": {"path": "/x"}, "response": response | more})


def data(*values: Any) -> list[dict[str, Any]]:
    """Events with these data."""
    return [{"data": value} for value in values]


CALL = (ToolCall(name="weather", arguments='{"city": "Paris"}'),)


def chunk(**delta: Any) -> dict[str, Any]:
    """A chunk of a chat completion."""
    return {"object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, "delta": delta}]}


WHOLE_AND_STREAMED = {
    Wire.CHAT: (
        {
            "object": "chat.completion",
            "model": "m",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "tool_calls",
                    "message": {
                        "content": "Hello",
                        "tool_calls": [{"function": {"name": "weather", "arguments": '{"city":"Paris"}'}}],
                    },
                }
            ],
        },
        data(
            chunk(content="Hel"),
            chunk(content="lo"),
            chunk(tool_calls=[{"index": 0, "function": {"name": "weather", "arguments": '{"ci'}}]),
            chunk(tool_calls=[{"index": 0, "function": {"arguments": 'ty":"Paris"}'}}]),
            {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
        ),
    ),
    Wire.RESPONSE: (
        {
            "object": "response",
            "model": "m",
            "status": "completed",
            "output": [
                {"type": "message", "content": [{"type": "output_text", "text": "Hello"}]},
                {"type": "function_call", "name": "weather", "arguments": '{"city": "Paris"}'},
            ],
        },
        data(
            {"type": "response.created", "response": {"object": "response", "status": "in_progress", "model": "m"}},
            {"type": "response.output_text.delta", "output_index": 0, "delta": "Hel"},
            {"type": "response.output_text.delta", "output_index": 0, "delta": "lo"},
            {
                "type": "response.output_item.added",
                "output_index": 1,
                "item": {"type": "function_call", "name": "weather", "id": "f"},
            },
            {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": '{"city": "Paris"}'},
            {"type": "response.completed", "response": {"object": "response", "status": "completed", "output": []}},
        ),
    ),
    Wire.MESSAGE: (
        {
            "type": "message",
            "role": "assistant",
            "model": "m",
            "stop_reason": "tool_use",
            "content": [
                {"type": "text", "text": "Hello"},
                {"type": "tool_use", "name": "weather", "input": {"city": "Paris"}},
            ],
        },
        data(
            {"type": "message_start", "message": {"type": "message", "role": "assistant", "model": "m", "content": []}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello"}},
            {
                "type": "content_block_start",
                "index": 1,
                "content_block": {"type": "tool_use", "name": "weather", "input": {}},
            },
            {"type": "content_block_delta", "index": 1, "delta": {"partial_json": '{"city": '}},
            {"type": "content_block_delta", "index": 1, "delta": {"partial_json": '"Paris"}'}},
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}},
        ),
    ),
    Wire.OLLAMA: (
        {
            "model": "m",
            "created_at": "",
            "done": True,
            "done_reason": "stop",
            "message": {
                "content": "Hello",
                "tool_calls": [{"function": {"name": "weather", "arguments": {"city": "Paris"}}}],
            },
        },
        data(
            {"model": "m", "created_at": "", "done": False, "message": {"content": "Hel"}},
            {
                "model": "m",
                "created_at": "",
                "done": True,
                "done_reason": "stop",
                "message": {
                    "content": "lo",
                    "tool_calls": [{"function": {"name": "weather", "arguments": {"city": "Paris"}}}],
                },
            },
        ),
    ),
    Wire.GEMINI: (
        {
            "candidates": [
                {
                    "finishReason": "STOP",
                    "content": {
                        "parts": [{"text": "Hello"}, {"functionCall": {"name": "weather", "args": {"city": "Paris"}}}]
                    },
                }
            ],
            "modelVersion": "m",
        },
        data(
            {"candidates": [{"content": {"parts": [{"text": "Hel"}]}}]},
            {"candidates": [{"content": {"parts": [{"text": "lo"}]}}]},
            {
                "candidates": [
                    {
                        "finishReason": "STOP",
                        "content": {"parts": [{"functionCall": {"name": "weather", "args": {"city": "Paris"}}}]},
                    }
                ],
                "modelVersion": "m",
            },
        ),
    ),
}


@pytest.mark.parametrize("wire", WHOLE_AND_STREAMED, ids=lambda wire: wire.name)
def test_a_stream_says_what_the_whole_answer_says(wire: Wire) -> None:
    whole, events = WHOLE_AND_STREAMED[wire]
    at_once, in_pieces = said(json_body=whole), said(events=events)
    for found in (at_once, in_pieces):
        assert (found.wire, found.text, found.tool_calls, found.model) == (wire, "Hello", CALL, "m")
    assert at_once.finish == in_pieces.finish != ""
    assert (at_once.events, in_pieces.events) == (0, len(events))


def test_events_that_were_kept_raw_are_read_too() -> None:
    raw = "id: 1\ndata: " + json.dumps(chunk(content="Hi")) + "\n\n"
    found = said(events=[{"raw": ": a comment\n\n"}, {"raw": raw}, {"text": "[DONE]"}])
    assert (found.text, found.wire, found.events) == ("Hi", Wire.CHAT, 3)


def test_errors_are_told_wherever_their_provider_puts_them() -> None:
    assert said(json_body={"error": {"message": "no"}}, status=404).error == "no"
    assert said(json_body={"detail": {"error": "too long"}}, status=400).error == "too long"
    assert said(events=data({"type": "error", "error": {"message": "overloaded"}})).error == "overloaded"
    raised = said(body=None, status=None, is_exception=True, exception={"kind": "ReadTimeout", "message": "late"})
    assert (raised.exception, raised.wire) == ("ReadTimeout: late", Wire.NOTHING)


def test_embeddings_are_counted_and_other_json_is_kept() -> None:
    found = said(json_body={"data": [{"embedding": [0.5] * 768}, {"embedding": [0.1] * 768}]})
    assert found.vectors is not None
    assert (found.vectors.count, found.vectors.lengths) == (2, (768,))
    ranked = said(json_body={"results": [{"index": 1}]})
    assert (ranked.wire, ranked.data) == (Wire.JSON, {"results": [{"index": 1}]})


def test_binary_bodies_are_told_by_type_and_size() -> None:
    found = said(body={"bytes": b"\0" * 70_000}, headers={"content-type": "audio/mpeg; x=y"})
    assert found.binary is not None
    assert (found.binary.kind, found.binary.size) == ("audio/mpeg", 70_000)


def test_several_choices_stand_apart_and_in_their_order() -> None:
    choices = [{"index": n, "text": f"number {n}"} for n in (10, 2)]
    assert said(json_body={"object": "text_completion", "choices": choices}).text == "number 2\n— choice 2 —\nnumber 10"


@pytest.mark.parametrize(
    "value",
    [
        [],
        1,
        "x",
        None,
        {},
        {"choices": [1, {"index": [], "delta": 3, "message": {"content": [1, {"x": 2}], "tool_calls": 3}}]},
        {"object": "response", "output": [{}, 3, {"type": None}], "usage": []},
        {"candidates": 1, "usageMetadata": "x"},
        {"type": "message_delta", "delta": None},
        {"data": [{"embedding": 3}]},
        {"embedding": {}},
        {"error": {"message": {}}},
    ],
)
def test_no_shape_of_an_answer_is_a_fault_of_ours(value: Any) -> None:
    assert isinstance(said(json_body=value, status=500).fingerprint, str)
    assert isinstance(said(events=data(value)).text, str)
