"""Recordings of every wire, made small, and the comparison of two of them."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from stackproof.drift import answer, comparing
from stackproof.drift.accepted import Accepted
from stackproof.drift.finding import Finding
from stackproof.recorder import recording

ROOT = Path(__file__).parents[3]
TEST = "tests/integration/base/test_chat.py::test_one"
Recording = dict[str, Any]


def made(
    *, path: str = "/chat/completions", model: str = "gpt-4o", ask: Any = "Capital?", **response: Any
) -> Recording:
    """A recording; `response` overrides what is 200, JSON and complete."""
    body = {"model": model, "messages": [{"role": "user", "content": ask}], **response.pop("asked", {})}
    return {
        "format": 1,
        "test_id": TEST,
        "scope": TEST,
        "request": {
            "provider": "openai", "method": "POST", "url": f"{{URL}}{path}", "path": path, "query": [],
            "endpoint": path, "model": model, "headers": {}, "body": {"json": body},
        },
        "response": {
            "status": 200, "headers": {"content-type": "application/json"}, "is_streaming": False, "complete": True,
            "is_exception": False, "exception": None, **response,
        },
        "rules": [],
        "provenance": {"recorded_at": "2026-01-01T00:00:00+00:00", "server": "s"},
        "id_normalization_mapping": {},
    }  # fmt: skip


def chat(message: Mapping[str, Any] | None = None, *, finish: str = "stop", model: str = "gpt-4o-2024-08-06") -> Any:
    """The body of a chat completion."""
    said = {"role": "assistant", "content": "Paris.", "refusal": None} if message is None else dict(message)
    return {
        "id": "rec-0123456789ab", "object": "chat.completion", "created": 0, "model": model,
        "choices": [{"index": 0, "message": said, "finish_reason": finish, "logprobs": None}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    }  # fmt: skip


def whole(body: Any, **more: Any) -> Recording:
    """A recording of an answer that is one JSON value."""
    return made(body={"json": body}, **more)


def streamed(*events: Any, framing: str = "sse", complete: bool = True, **more: Any) -> Recording:
    """A recording of a stream. An event is its data, or (name, data); a text is one that is no JSON."""
    kept = []
    for event in events:
        name, data = event if isinstance(event, tuple) else ("", event)
        kept.append(
            {**({"event": name} if name else {}), **({"text": data} if isinstance(data, str) else {"data": data})}
        )
    kind = "text/event-stream" if framing == "sse" else "application/x-ndjson"
    return made(
        headers={"content-type": kind}, is_streaming=True, framing=framing, events=kept, complete=complete, **more
    )


def chunk(delta: Mapping[str, Any], *, finish: str | None = None, **more: Any) -> Any:
    """A chunk of a chat completion."""
    choice = {"index": 0, "delta": dict(delta), "finish_reason": finish}
    return {"id": "rec-1", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [choice], **more}


def chat_stream(*words: str) -> Recording:
    """A chat completion in chunks, with usage at its end."""
    usage = {**chunk({}), "choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}}
    said = [chunk({"content": word}) for word in words or ("Pa", "ris", ".")]
    return streamed(chunk({"role": "assistant", "content": ""}), *said, chunk({}, finish="stop"), usage, "[DONE]")


def message_stream(*blocks: Any) -> Recording:
    """An Anthropic message in events; a block is its type, its start and its deltas."""
    events: list[Any] = [{"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant"}}]
    chosen = blocks or (
        ("text", {"text": ""}, [{"type": "text_delta", "text": "Pa"}, {"type": "text_delta", "text": "ris"}]),
    )
    for index, (kind, start, deltas) in enumerate(chosen):
        events.append({"type": "content_block_start", "index": index, "content_block": {"type": kind, **start}})
        events += [{"type": "content_block_delta", "index": index, "delta": dict(delta)} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    events.append({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}})
    events.append({"type": "message_stop"})
    return streamed(*((event["type"], event) for event in events), path="/messages")


TOOL = (
    "tool_use",
    {"id": "toolu_1", "name": "weather", "input": {}},
    [{"type": "input_json_delta", "partial_json": "{}"}],
)


def response_stream(*deltas: str, item: str = "msg_1") -> Recording:
    """A response in events, each with its place."""
    at = {"output_index": 0, "item_id": item}
    part = {**at, "content_index": 0}
    told = {"id": item, "type": "message", "role": "assistant", "status": "completed"}
    text = {"type": "output_text", "text": "Paris", "annotations": []}
    outer = {"id": "resp_1", "object": "response", "status": "completed", "model": "m", "output": []}
    events: list[Any] = [
        {"type": "response.created", "response": outer},
        {"type": "response.output_item.added", "output_index": 0, "item": {**told, "content": []}},
        {"type": "response.content_part.added", **part, "part": {**text, "text": ""}},
        *({"type": "response.output_text.delta", **part, "delta": delta} for delta in deltas or ("Pa", "ris")),
        {"type": "response.output_text.done", **part, "text": "Paris"},
        {"type": "response.content_part.done", **part, "part": text},
        {"type": "response.output_item.done", "output_index": 0, "item": {**told, "content": [text]}},
        {"type": "response.completed", "response": {**outer, "output": [{**told, "content": [text]}]}},
    ]
    return streamed(*((event["type"], event) for event in events), path="/responses")


def ollama_stream(*words: str) -> Recording:
    """Ollama's own stream of lines."""
    lines: list[Any] = [
        {"model": "m", "created_at": "1970", "message": {"role": "assistant", "content": word}, "done": False}
        for word in words or ("Pa", "ris")
    ]
    lines.append(
        {
            **lines[0],
            "message": {"role": "assistant", "content": ""},
            "done": True,
            "done_reason": "stop",
            "eval_count": 2,
        }
    )
    return streamed(*lines, framing="ndjson", path="/api/chat")


def compare(recorded: Recording | list[Recording], observed: Recording) -> list[Finding]:
    """What differs between an answer and those that are accepted."""
    known = [answer.shape_of(each) for each in (recorded if isinstance(recorded, list) else [recorded])]
    seen = answer.shape_of(observed)
    found = list(comparing.outside(known[0], seen))
    if found:
        return found
    accepted = Accepted()
    for each in known:
        if comparing.is_comparable(each, seen):
            accepted.add(each)
    return list(comparing.inside(accepted, seen, model=observed["request"]["model"]))


def told(findings: list[Finding]) -> list[tuple[str, str, str]]:
    """Severity, kind and place of each, sorted."""
    return sorted((str(each.severity), str(each.kind), each.where) for each in findings)


class Repository:
    """The recordings of this project: `all` with their paths, `answered` those with a whole body or stream."""

    def __init__(self) -> None:
        paths = sorted((ROOT / "recordings").rglob("*.json"))
        read = ((path.relative_to(ROOT).as_posix(), recording.read(str(path))) for path in paths)
        self.all: list[tuple[str, Recording]] = [(name, content) for name, content in read if content is not None]
        self.answered = [
            content
            for _, content in self.all
            if content["response"]["complete"]
            and (content["response"].get("events") or "json" in (content["response"].get("body") or {}))
        ]


class Makers:
    """What tests make recordings with: pytest's import mode makes the folders of tests no packages."""

    made = staticmethod(made)
    chat = staticmethod(chat)
    whole = staticmethod(whole)
    streamed = staticmethod(streamed)
    chunk = staticmethod(chunk)
    chat_stream = staticmethod(chat_stream)
    message_stream = staticmethod(message_stream)
    response_stream = staticmethod(response_stream)
    ollama_stream = staticmethod(ollama_stream)
    compare = staticmethod(compare)
    told = staticmethod(told)
    tool, test = TOOL, TEST

    @staticmethod
    def copy(content: Recording) -> Recording:
        """A recording of its own."""
        copied: Recording = json.loads(json.dumps(content))
        return copied

    @staticmethod
    def deep(value: Any) -> Any:
        """A value of its own."""
        return copy.deepcopy(value)


@pytest.fixture(scope="session")
def make() -> type[Makers]:
    """The makers."""
    return Makers


@pytest.fixture(scope="session")
def repository() -> Repository:
    """The recordings of this project."""
    return Repository()
