"""What a recorded answer says, whatever wire it came over and in whatever pieces.

Two answers mean the same where these facts are the same; ids, dates and chunk edges are no part of them.
"""

from __future__ import annotations

import contextlib
import json
from binascii import a2b_base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from stackproof.recorder.recording import Recording
from stackproof.recordings import wires
from stackproof.recordings.draft import Draft, ToolCall, Vectors, Wire


@dataclass(frozen=True, kw_only=True, slots=True)
class Binary:
    """A body that is no text: its content type, its size in bytes, and twelve digits of its SHA-256."""

    kind: str
    size: int
    digest: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Meaning:
    """What an answer says.

    `text`, `reasoning`: joined from all pieces; several choices stand below each other, a line between them.
    `usage`: the counts that the provider gave, nested ones by path. `model`: as the answer names it.
    `error`: the message of an error answer, or of an error inside a stream. `exception`: what the transport raised.
    `data`: the whole JSON of an answer that is not a stream; None else. `chunks`: pieces in which it is replayed.
    `complete` is False where the caller left early.
    """

    wire: Wire
    status: int | None
    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish: str = ""
    usage: Mapping[str, Any] = field(default_factory=dict)
    model: str = ""
    error: str = ""
    exception: str = ""
    vectors: Vectors | None = None
    binary: Binary | None = None
    data: Any = None
    is_streaming: bool = False
    events: int = 0
    chunks: int = 0
    complete: bool = True

    @property
    def fingerprint(self) -> str:
        """Equal for answers that say the same; sixteen digits. Usage and the number of events are no part of it."""
        calls = [[call.name, call.arguments] for call in self.tool_calls]
        said = [
            self.wire, self.status, self.text, self.reasoning, calls, self.finish, self.error, self.exception,
            self.vectors and self.vectors.digest, self.binary and self.binary.digest,
            self.data if self.wire is Wire.JSON else None,
        ]  # fmt: skip
        return sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def gist(self) -> str:
        """The answer in as few words as it takes: what was said, else what was called, else its status and kind."""
        calls = " ".join(f"{call.name}({call.arguments})" for call in self.tool_calls)
        return self.exception or self.error or self.text or calls or f"{self.status} {self.wire.value}"


def meaning(content: Recording) -> Meaning:
    """What the answer of a recording says."""
    response = content["response"]
    draft = Draft()
    is_stream = response.get("framing") is not None
    body = response.get("body") or {}
    whole = body.get("json") if "json" in body else None
    for value in payloads(response) if is_stream else ([whole] if "json" in body else ()):
        wires.read(draft, value)
    if not draft.error and isinstance(whole, dict) and (response.get("status") or 0) >= 400:
        draft.error = wires.error_of(whole)
    if draft.wire is None:
        draft.wire = Wire.JSON if is_stream or "json" in body else Wire.NOTHING
    text, binary = draft.text, None
    if "text" in body:
        draft.wire, text = Wire.TEXT, str(body["text"])
    elif "base64" in body or "bytes" in body:
        raw = body["bytes"] if "bytes" in body else a2b_base64(body["base64"])
        draft.wire = Wire.BINARY
        kind = str(response["headers"].get("content-type", "")).partition(";")[0] or "unknown type"
        binary = Binary(kind=kind, size=len(raw), digest=sha256(raw).hexdigest()[:12])
    raised = response.get("exception") or {}
    return Meaning(
        wire=draft.wire,
        status=response.get("status"),
        text=text,
        reasoning=draft.reasoning,
        tool_calls=draft.tool_calls,
        finish=draft.finish,
        usage=draft.usage,
        model=draft.model,
        error=draft.error,
        exception=f"{raised.get('kind')}: {raised.get('message')}" if response.get("is_exception") else "",
        vectors=draft.vectors,
        binary=binary,
        data=whole if not is_stream else (draft.unread or None),
        is_streaming=bool(response.get("is_streaming")),
        events=len(response["events"]) if is_stream else 0,
        chunks=_chunks(response),
        complete=bool(response.get("complete")),
    )


def _chunks(response: Mapping[str, Any]) -> int:
    """How many pieces `recording.chunks_of` makes, without making them."""
    if response.get("framing") is None:
        return 0 if response.get("body") is None else 1 + len(response.get("cut") or ())
    events = response["events"]
    begun = sum(1 for number, event in enumerate(events) if number == 0 or not event.get("joined"))
    return begun + sum(len(event.get("cut") or ()) for event in events)


def payloads(response: Mapping[str, Any]) -> Iterator[Any]:
    """The value of each event of a stream: JSON where it is some, else its text; comments and `[DONE]` are left out."""
    for event in response["events"]:
        if "data" in event:
            yield event["data"]
            continue
        text = str(event.get("text", event.get("raw", "")))
        if "raw" in event and response["framing"] == "sse":
            lines = (line for line in text.splitlines() if line.startswith("data:"))
            text = "\n".join(line[5:].removeprefix(" ") for line in lines)
        if not text.strip() or text == "[DONE]":
            continue
        value: Any = text
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(text)
        yield value
