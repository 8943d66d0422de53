"""Cut streamed bodies into events, whatever the network's chunks are, and put events back into bytes.

Server-sent events follow the WHATWG HTML standard ("event stream interpretation"); NDJSON is one JSON value a line.
"""

from __future__ import annotations

import re
from binascii import a2b_base64, b2a_base64
from typing import Any, Literal

from .canonical import NotPlainJson, compact, parse

Framing = Literal["sse", "ndjson"]
FRAMINGS = ("sse", "ndjson")
# A line ends with CRLF, LF or CR, in any mixture; two ends in a row end the event.
_SSE_END = re.compile(rb"(?:\r\n|\n|\r(?!\n)){2}")
_LINE_END = re.compile(rb"\n")
_TERMINAL_TYPES = frozenset(
    {"response.completed", "response.failed", "response.incomplete", "message_stop", "interaction.completed"}
)


def framing_of(content_type: str) -> Framing | None:
    """How a body of this content type is cut into events; None when it is not a stream of events."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "text/event-stream":
        return "sse"
    if kind in ("application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines"):
        return "ndjson"
    return None


class Splitter:
    """Bytes in, complete events out. What is left at the end is an event without its end."""

    def __init__(self, framing: Framing) -> None:
        self._end = _SSE_END if framing == "sse" else _LINE_END
        self._rest = b""
        self._scanned = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The events that `chunk` completes, each with its end."""
        self._rest += chunk
        events, start = [], 0
        for match in self._end.finditer(self._rest, max(0, self._scanned - 3)):
            if match.end() == len(self._rest) and match.group().endswith(b"\r"):
                break  # a line feed that belongs to it may follow
            events.append(self._rest[start : match.end()])
            start = match.end()
        self._rest = self._rest[start:]
        self._scanned = len(self._rest)
        return events

    @property
    def pending(self) -> int:
        """Bytes of the event that is not complete yet."""
        return len(self._rest)

    def end(self) -> bytes:
        """What remains when the body is over."""
        rest, self._rest, self._scanned = self._rest, b"", 0
        return rest


def decode(framing: Framing, raw: bytes) -> dict[str, Any]:
    """An event as data: `{"event"?, "data": JSON}`, `{"event"?, "text": str}`, else `{"raw": str}` or `{"base64": …}`.

    `end` is added where lines do not end with a line feed.
    Only what `encode` gives back with an equal value is taken apart; comments, ids, several data lines stay raw.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": b2a_base64(raw, newline=False).decode("ascii")}
    event = _decode_sse(text) if framing == "sse" else _decode_line(text)
    return event if event is not None else {"raw": text}


def encode(framing: Framing, event: dict[str, Any]) -> bytes:
    """The bytes of an event that `decode` gave."""
    if "raw" in event:
        return str(event["raw"]).encode()
    if "base64" in event:
        return a2b_base64(event["base64"])
    data = compact(event["data"]) if "data" in event else str(event["text"]).encode()
    if framing == "ndjson":
        return data + b"\n"
    if "event" not in event and "end" not in event:
        return b"data: " + data + b"\n\n"  # nearly every event of nearly every stream
    end = str(event.get("end", "\n")).encode()
    name = b"event: " + str(event["event"]).encode() + end if "event" in event else b""
    return name + b"data: " + data + end * 2


def is_terminal(framing: Framing, event: dict[str, Any]) -> bool:
    """Whether the wire says with this event that nothing follows."""
    if event.get("text") == "[DONE]":
        return True
    data = event.get("data")
    if not isinstance(data, dict):
        return False
    return data.get("type") in _TERMINAL_TYPES if framing == "sse" else data.get("done") is True


def _decode_sse(text: str) -> dict[str, Any] | None:
    end = "\r\n" if "\r\n" in text else "\r" if "\r" in text else "\n"
    lines = text.split(end)
    if len(lines) < 3 or lines[-2:] != ["", ""] or any("\r" in line or "\n" in line for line in lines):
        return None
    event: dict[str, Any] = {} if end == "\n" else {"end": end}
    if len(lines) == 4 and lines[0].startswith("event: "):
        event["event"] = lines.pop(0)[len("event: ") :]
    if len(lines) != 3 or not lines[0].startswith("data:"):
        return None
    data = lines[0][5:].removeprefix(" ")
    try:
        event["data"] = parse(data)
    except NotPlainJson:
        event["text"] = data
    return event


def _decode_line(text: str) -> dict[str, Any] | None:
    if not text.endswith("\n"):
        return None
    try:
        return {"data": parse(text)}
    except NotPlainJson:
        return None
