"""The floor: an ASGI application that sends the same bytes in the same pieces, and knows nothing else."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from ci.edge_load.stream import pieces

PIECES = pieces(int(os.environ.get("EDGE_LOAD_EVENTS", "500")))
_HEADERS = [(b"content-type", b"text/event-stream")]


async def app(
    scope: MutableMapping[str, Any], receive: Callable[..., Awaitable[Any]], send: Callable[..., Awaitable[None]]
) -> None:
    """Answer every request with the stream."""
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
    for piece in PIECES:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
