"""What the hand-made answers have in common: reading a request, and sending a stream."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from starlette.requests import Request
from starlette.responses import StreamingResponse

# Every answer is the same whenever it is asked for.
CREATED = "2026-01-01T00:00:00Z"


async def fields(request: Request) -> dict[str, Any]:
    """The JSON object that was sent; an empty one for anything else."""
    try:
        body = json.loads(await request.body())
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def words(text: str) -> list[str]:
    """The pieces that a stream brings; joined they are the text."""
    return [part if at == 0 else f" {part}" for at, part in enumerate(text.split(" "))]


def events(told: Iterable[dict[str, Any]], *, name: str, done: bool = False) -> StreamingResponse:
    """Server-sent events, each named by its field `name`; with `done` the last one is `[DONE]`."""

    def sent() -> Iterator[bytes]:
        for one in told:
            yield f"event: {one[name]}\ndata: {json.dumps(one)}\n\n".encode()
        if done:
            yield b"event: done\ndata: [DONE]\n\n"

    return StreamingResponse(sent(), media_type="text/event-stream")


def lines(told: Iterable[dict[str, Any]]) -> StreamingResponse:
    """One JSON object a line."""
    return StreamingResponse((json.dumps(one).encode() + b"\n" for one in told), media_type="application/x-ndjson")


def vector(text: str) -> list[float]:
    """Four numbers that a text has for its own: how often its letters come, brought to length 1."""
    counts = [text.lower().count(letter) for letter in "aeio"]
    length = sum(count * count for count in counts) ** 0.5
    return [round(count / length, 6) if length else 0.0 for count in counts]
