"""What providers answer, by the path that is asked: one plain and one streamed answer for each wire."""

from __future__ import annotations

import json
import struct
import time
import zlib
from typing import Any

TEXT = ("Hello", " there", ".")
_CHAT = {"id": "chatcmpl-real", "created": 1700000000, "model": "m"}
_MESSAGE: dict[str, Any] = {
    "id": "msg_real",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
    "usage": {"input_tokens": 3, "output_tokens": 2},
}


def answer(wire: Any) -> None:
    """Answer one request as the provider would whose path it is."""
    path = wire.asked.path.partition("?")[0]
    streamed = path.endswith((":streamGenerateContent", "/converse-stream")) or bool(wire.asked.json.get("stream"))
    for ending, script in _BY_PATH.items():
        if path.endswith(ending):
            script(wire, streamed)
            return
    wire.json({"error": {"message": f"nothing at {path}"}}, status=404)


def _events(wire: Any, events: list[tuple[str | None, Any]], done: bool) -> None:
    wire.head(content_type="text/event-stream")
    for name, data in events:
        head = f"event: {name}\n" if name else ""
        wire.chunk(f"{head}data: {json.dumps(data)}\n\n".encode())
        time.sleep(0.005)
    if done:
        wire.chunk(b"data: [DONE]\n\n")
    wire.end()


def _chat(wire: Any, streamed: bool) -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    if not streamed:
        message = {"role": "assistant", "content": "".join(TEXT)}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        wire.json({**_CHAT, "object": "chat.completion", "choices": [choice], "usage": usage})
        return
    parts: list[dict[str, str]] = [{"role": "assistant", "content": ""}, *({"content": word} for word in TEXT), {}]
    chunks = [
        {
            **_CHAT,
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": part, "finish_reason": None if part else "stop"}],
        }
        for part in parts
    ]
    _events(wire, [(None, chunk) for chunk in chunks], done=True)


def _message(wire: Any, streamed: bool) -> None:
    if not streamed:
        wire.json({**_MESSAGE, "content": [{"type": "text", "text": "".join(TEXT)}], "stop_reason": "end_turn"})
        return
    deltas = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}} for word in TEXT
    ]
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": _MESSAGE},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *deltas,
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 2},
        },
        {"type": "message_stop"},
    ]
    _events(wire, [(event["type"], event) for event in events], done=False)


def _gemini(wire: Any, streamed: bool) -> None:
    def said(text: str, reason: str | None) -> dict[str, Any]:
        candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": [{"text": text}]}}
        return {"candidates": [{**candidate, **({"finishReason": reason} if reason else {})}], "modelVersion": "m"}

    if streamed:
        _events(wire, [(None, said(word, "STOP" if word == "." else None)) for word in TEXT], done=False)
    else:
        wire.json(said("".join(TEXT), "STOP"))


def _ollama(wire: Any, streamed: bool) -> None:
    def said(text: str, done: bool) -> dict[str, Any]:
        at = "2024-05-01T10:00:00.123456Z"
        return {"model": "m", "created_at": at, "message": {"role": "assistant", "content": text}, "done": done}

    if not streamed:
        wire.json(said("".join(TEXT), True))
        return
    wire.head(content_type="application/x-ndjson")
    for word in TEXT:
        wire.chunk(json.dumps(said(word, word == ".")).encode() + b"\n")
        time.sleep(0.005)
    wire.end()


def _cohere(wire: Any, streamed: bool) -> None:
    if not streamed:
        message = {"role": "assistant", "content": [{"type": "text", "text": "".join(TEXT)}]}
        wire.json({"id": "c-1", "finish_reason": "COMPLETE", "message": message})
        return
    start: Any = {"type": "message-start", "id": "c-1", "delta": {"message": {"role": "assistant", "content": []}}}
    deltas = [{"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": word}}}} for word in TEXT]
    end: Any = {"type": "message-end", "delta": {"finish_reason": "COMPLETE"}}
    _events(wire, [(event["type"], event) for event in (start, *deltas, end)], done=False)


def _tavily(wire: Any, streamed: bool) -> None:
    found = {"title": "Hello", "url": "https://example.com", "content": "".join(TEXT), "score": 0.5}
    wire.json({"query": wire.asked.json["query"], "results": [found], "images": [], "response_time": 0.1})


def _converse(wire: Any, streamed: bool) -> None:
    if not streamed:
        message = {"role": "assistant", "content": [{"text": "".join(TEXT)}]}
        usage = {"inputTokens": 3, "outputTokens": 2, "totalTokens": 5}
        wire.json(
            {
                "output": {"message": message},
                "stopReason": "end_turn",
                "usage": usage,
                "metrics": {"latencyMs": 7},
            }
        )
        return
    wire.head(content_type="application/vnd.amazon.eventstream")
    deltas = [("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": word}}) for word in TEXT]
    for name, value in (
        ("messageStart", {"role": "assistant"}),
        *deltas,
        ("contentBlockStop", {"contentBlockIndex": 0}),
        ("messageStop", {"stopReason": "end_turn"}),
    ):
        wire.chunk(event_stream_message(name, value))
        time.sleep(0.005)
    wire.end()


def event_stream_message(name: str, value: Any) -> bytes:
    """One message of AWS's binary event stream: lengths, checksums, headers of type 7 (string), payload."""
    headers = b""
    pairs = {":event-type": name, ":content-type": "application/json", ":message-type": "event"}
    for key, text in pairs.items():
        headers += bytes([len(key)]) + key.encode() + b"\x07" + struct.pack("!H", len(text)) + text.encode()
    payload = json.dumps(value).encode()
    prelude = struct.pack("!II", 16 + len(headers) + len(payload), len(headers))
    message = prelude + struct.pack("!I", zlib.crc32(prelude)) + headers + payload
    return message + struct.pack("!I", zlib.crc32(message))


_BY_PATH = {
    "/chat/completions": _chat,
    "/messages": _message,
    ":generateContent": _gemini,
    ":streamGenerateContent": _gemini,
    "/api/chat": _ollama,
    "/v2/chat": _cohere,
    "/search": _tavily,
    "/converse": _converse,
    "/converse-stream": _converse,
}
