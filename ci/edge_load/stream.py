"""The stream that everybody sends, and a caller that costs next to nothing."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

BODY = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Hi"}]}
_TIMEOUT = 120.0


def pieces(events: int) -> list[bytes]:
    """Events of a chat as OpenAI streams it, the last of them [DONE]."""
    made = []
    for number in range(events - 1):
        choice = {"index": 0, "delta": {"content": f" word{number}"}, "finish_reason": None}
        chunk = {
            "id": "rec-1",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": "m",
            "choices": [choice],
        }
        made.append(b"data: " + json.dumps(chunk, separators=(",", ":")).encode() + b"\n\n")
    return [*made, b"data: [DONE]\n\n"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Got:
    """What a caller got. raw: the body as it came, in chunks. first: seconds from the request to its first byte."""

    status: int
    raw: bytes
    first: float

    def body(self) -> bytes:
        """The body without its chunks; what is missing of it is missing."""
        parts, rest = [], self.raw
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            length = int(size or b"0", 16)
            parts.append(rest[:length])
            rest = rest[length + 2 :]
        return b"".join(parts)


async def ask(url: str, *, scope: str | None = None, attempt: int = 1) -> Got:
    """One call with a connection of its own, read to its end."""
    parts = urlsplit(url)
    body = json.dumps(BODY).encode()
    head = [
        f"POST {parts.path} HTTP/1.1",
        f"Host: {parts.netloc}",
        "Content-Type: application/json",
        "Connection: close",
    ]
    if scope is not None:
        head.append(f"X-Provider-Data: {json.dumps({'__test_id': scope, '__attempt': attempt})}")
    head += [f"Content-Length: {len(body)}", "", ""]
    async with asyncio.timeout(_TIMEOUT):
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        began = time.perf_counter()
        writer.write("\r\n".join(head).encode() + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        raw = [await reader.read(65536)]
        first = time.perf_counter() - began
        while data := await reader.read(65536):
            raw.append(data)
        writer.close()
    return Got(status=int(answer.split(b" ", 2)[1]), raw=b"".join(raw), first=first)
