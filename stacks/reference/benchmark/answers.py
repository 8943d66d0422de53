"""What the model says in a turn of the benchmark: a call of a tool, then a text. Made up, and the same each time."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager
from functools import cache

import httpx2

from stackproof.checks import loopback

MODEL = "benchmark"
TOOL = "get_weather"
TEXT = " ".join(["It is mild in Paris, with a light wind from the west and no rain before the evening."] * 5)
STREAM = "text/event-stream"


def events(body: bytes) -> tuple[bytes, ...]:
    """The answer to a request, an event each: the call as long as the request holds no result, then the text."""
    return _written(called=b"function_call_output" in body)


@cache
def _written(*, called: bool) -> tuple[bytes, ...]:
    # Once: a floor that made its answer up while it is timed would lie too high.
    said = _said() if called else _calls()
    return tuple(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() for each in said)


def in_memory(request: httpx2.Request) -> httpx2.Response:
    """The same answers from memory, event by event: what a transport at least has to do."""
    return httpx2.Response(200, headers={"content-type": STREAM}, content=_one_by_one(events(request.content)))


async def _one_by_one(parts: tuple[bytes, ...]) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


def provider() -> AbstractContextManager[str]:
    """A provider on a free port of the loopback interface, gone at the end of the block; its base URL."""
    return loopback.provider(lambda _, body: (STREAM, events(body)))


def _calls() -> list[dict[str, object]]:
    item: dict[str, object] = {
        "id": "fc_benchmark",
        "type": "function_call",
        "status": "completed",
        "call_id": "call_benchmark",
        "name": TOOL,
        "arguments": '{"city": "Paris"}',
    }
    return [
        {"type": "response.created", "response": _response([])},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "arguments": ""}},
        {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": item["arguments"]},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": _response([item])},
    ]


def _said() -> list[dict[str, object]]:
    part: dict[str, object] = {"type": "output_text", "text": TEXT, "annotations": []}
    item: dict[str, object] = {
        "id": "msg_benchmark",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }
    words = TEXT.split(" ")
    pieces = [" ".join(words[at : at + 2]) + (" " if at + 2 < len(words) else "") for at in range(0, len(words), 2)]
    return [
        {"type": "response.created", "response": _response([])},
        *({"type": "response.output_text.delta", "output_index": 0, "delta": piece} for piece in pieces),
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": _response([item])},
    ]


def _response(output: list[dict[str, object]]) -> dict[str, object]:
    usage = {"input_tokens": 40, "output_tokens": 80, "total_tokens": 120}
    status = "completed" if output else "in_progress"
    about = {"id": "resp_benchmark", "object": "response", "created_at": 0, "model": MODEL, "status": status}
    return {**about, "output": output, "usage": usage}
