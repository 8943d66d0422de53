"""One interaction while it is recorded: bytes of the provider in, bytes for the caller out, a recording at the end.

What comes out is the normalised answer that replay will give. Events are released as soon as they are complete; a body
that must be rewritten as a whole (JSON) is released at its end, anything else chunk by chunk as it comes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from . import encodings, events
from .canonical import NotPlainJson, compact, parse
from .normalise import Ids, normalise
from .recording import cut_at, encode_body
from .usage import Usage

# Of the connection, not of the answer: the caller gets a decoded body of another length. And cookies: they are secrets,
# so no file has them, and a client that kept one while recording would send other requests than in replay.
_NOT_HANDED_ON = frozenset(
    {"connection", "content-length", "keep-alive", "set-cookie", "set-cookie2", "transfer-encoding"}
)

Response = dict[str, Any]


class Take:
    """Feed it what arrives. `on_end` is called once, with the `response` part of the recording."""

    def __init__(self, ids: Ids, on_end: Callable[[Response], None]) -> None:
        self.ids = ids
        self.usage = Usage()
        self._on_end = on_end
        self._lock = threading.RLock()  # the garbage collector closes a forgotten stream in the middle of anything
        self._over = False
        self._terminal = False
        self._status: int | None = None
        self._kept: dict[str, str] = {}
        self._content_type = ""
        self._undo: encodings.Undo | None = None
        self._framing: events.Framing | None = None
        self._splitter: events.Splitter | None = None
        self._events: list[dict[str, Any]] = []
        self._body = bytearray()
        self._waits: list[int] = []  # milliseconds before each chunk of the network
        self._since = time.monotonic()
        self._edges: list[int] = []  # where chunks ended in a body that is no stream of events
        self._cut: list[int] = []  # where chunks ended inside the event that is not complete yet
        self._next_joined = False  # whether that event began in the chunk that its predecessor ended in

    def start(self, status: int, headers: Mapping[str, str], kept: Mapping[str, str]) -> dict[str, str]:
        """The head of the response (lower-case names) and what of it goes into the file; headers for the caller."""
        self._status = status
        self._kept = dict(kept)
        encoding = headers.get("content-encoding", "").strip().lower()
        self._undo = encodings.undo(encoding)
        if self._undo is not None or encoding in ("", "identity"):
            # Of a body in another encoding nothing can be read: it is kept as the bytes that it is.
            self._content_type = headers.get("content-type", "")
        self._framing = events.framing_of(self._content_type)
        if self._framing is not None:
            self._splitter = events.Splitter(self._framing)
        if self._undo is None:
            return {key: value for key, value in headers.items() if key not in _NOT_HANDED_ON}
        if encodings.needs_a_package(encoding):
            self._kept.pop("content-encoding", None)  # with this name in a file, its body is as it came
        return {key: value for key, value in headers.items() if key not in _NOT_HANDED_ON and key != "content-encoding"}

    def feed(self, chunk: bytes) -> list[bytes]:
        """One chunk of the network; the chunks to hand on now."""
        data = self._undo(chunk) if self._undo is not None else chunk
        if not data or self._over:
            return []  # beyond the terminal event there is nothing, however the network cut what followed it
        self._waits.append(self._waited())
        if self._splitter is None:
            self._body += data
            self._edges.append(len(self._body))
            return [] if self._is_json else [data]
        released: list[bytes] = []
        complete = self._splitter.feed(data)
        for raw in complete:
            self._add(raw, released)
            self._next_joined = True
            if self._terminal:
                break
        rest = self._splitter.pending
        if rest:
            self._cut.append(rest)
        elif complete:
            self._next_joined = False
        if self._terminal:
            # SDKs stop reading here and may never close: the answer is whole, so it is written now.
            self._finish(complete=True)
        return released

    def end(self) -> list[bytes]:
        """The end of the body; the chunks still to hand on."""
        released: list[bytes] = []
        if self._over:
            return released  # asked once more: SDKs iterate again while they close
        if self._splitter is not None:
            rest = self._splitter.end()
            if rest:
                self._cut = [edge for edge in self._cut if edge < len(rest)]
                self._add(rest, released)
        elif self._is_json and self._body:
            released.append(self._rewrite())
        self._finish(complete=True)
        return released

    def close(self) -> None:
        """The caller left. Before the end, and before the wire's terminal event, that makes the take incomplete."""
        self._finish(complete=self._terminal)

    def fail(self, exception: Mapping[str, str]) -> None:
        """The provider broke off: `exception` is {kind, message}; without a head there was no response at all."""
        self._finish(complete=False, exception=exception)

    def disown(self) -> None:
        """Write nothing, whatever comes: the call belongs to the process that this one was forked from."""
        self._over = True

    @property
    def is_over(self) -> bool:
        """Whether the recording of this call was written or given up."""
        return self._over

    @property
    def _is_json(self) -> bool:
        return self._splitter is None and "json" in self._content_type.lower()

    def _waited(self) -> int:
        now = time.monotonic()
        since, self._since = self._since, now
        return round((now - since) * 1000)

    def _add(self, raw: bytes, released: list[bytes]) -> None:
        assert self._framing is not None  # noqa: S101 - only a splitter gives events
        event = events.decode(self._framing, raw)
        if "data" in event:
            self.usage.see(event["data"])
            event["data"] = normalise(event["data"], self.ids)
        elif "raw" in event:
            # Whole JSON strings only: an id may be as short as "1".
            for real, written in self.ids.written.items():
                event["raw"] = event["raw"].replace(f'"{real}"', f'"{written}"')
        pieces = cut_at(events.encode(self._framing, event), self._cut)
        if self._next_joined:
            event["joined"] = True
        if self._cut:
            event["cut"], self._cut = self._cut, []
        if released and event.get("joined"):
            released[-1] += pieces.pop(0)
        released.extend(pieces)
        self._events.append(event)
        self._terminal = self._terminal or events.is_terminal(self._framing, event)

    def _rewrite(self) -> bytes:
        raw = bytes(self._body)
        try:
            value = parse(raw)
        except NotPlainJson:
            return raw
        self.usage.see(value)
        value = normalise(value, self.ids)
        rewritten = compact(value)
        self._body = bytearray(rewritten)
        return rewritten

    def _finish(self, *, complete: bool, exception: Mapping[str, str] | None = None) -> None:
        with self._lock:
            if self._over:
                return
            self._over = True
        response: Response = {
            "status": self._status,
            "headers": self._kept,
            "is_streaming": self._framing is not None,
        }
        if self._framing is not None:
            response["framing"] = self._framing
            response["events"] = self._events
        else:
            response["body"] = encode_body(self._content_type, bytes(self._body))
            # A JSON body is rewritten as a whole; others reach the caller in the network's chunks.
            if not self._is_json and len(self._edges) > 1:
                response["cut"] = self._edges[:-1]
        if self._waits:
            # A JSON body reaches the caller as one chunk, when all of it is here.
            response["waits"] = [sum(self._waits)] if self._is_json else self._waits
        response["complete"] = complete
        response["is_exception"] = exception is not None
        response["exception"] = dict(exception) if exception is not None else None
        self._on_end(response)
