"""Happens to the body of an answer: it ends, stalls or is damaged at a border between two events.

An event is a block of the stream as it was recorded, comments and `[DONE]` included; a line of NDJSON. A body that is
no stream of events has the network's chunks in their place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import assert_never

from .. import events
from ..decision import Answer
from ..failures import Kind, tell
from .dialect import error_event, wire_of
from .fault import Act, Fault

# What httpcore says of a real one; code that looks at the text finds what it looks for.
CUT = "peer closed connection without sending complete message body (incomplete chunked read)"
Piece = tuple[float, bytes]


def settled(answer: Answer) -> Answer:
    """The same answer with its pieces at hand, to be looked at more than once."""
    pieces = list(answer.paced())
    return replace(answer, chunks=[chunk for _, chunk in pieces], waits=[wait for wait, _ in pieces])


def changed(answer: Answer, fault: Fault, path: str, met: Callable[[], None]) -> Answer | None:
    """A settled answer as the fault leaves it; None where it cannot happen to such an answer.

    path: of the request. met: called when the reader gets to the fault.
    """
    match fault.act:
        case Act.CONTENT_TYPE:
            met()
            return replace(answer, headers={**answer.headers, "content-type": fault.value})
        case Act.SLOW_FIRST_BYTE:
            met()
            return replace(answer, delay=answer.delay + fault.seconds)
        case Act.STATUS | Act.REFUSED:
            raise AssertionError("replaced before")
        case _:
            return _Body(answer, met).with_(fault, path)


class _Body:
    """A body, and what may happen to it."""

    def __init__(self, answer: Answer, met: Callable[[], None]) -> None:
        self._answer, self._met = answer, met
        self._pieces = list(answer.paced())
        self._framing = events.framing_of(answer.headers.get("content-type", ""))

    def with_(self, fault: Fault, path: str) -> Answer | None:
        match fault.act:
            case Act.CUT:
                return self._cut(fault.number)
            case Act.STALL:
                return self._stalled(fault.number, fault.seconds)
            case Act.DAMAGE | Act.ERROR_EVENT:
                return self._at_event(fault, path)
            case Act.TRUNCATE:
                return self._truncated(fault.number)
            case Act.CONTENT_TYPE | Act.SLOW_FIRST_BYTE | Act.STATUS | Act.REFUSED:
                raise AssertionError("not of a body")
        assert_never(fault.act)

    def _cut(self, number: int) -> Answer | None:
        parts = _after(self._pieces, self._framing, number)
        if parts is None:
            return None
        return replace(self._given(parts[0], [], whole=False), exception=tell(Kind.REMOTE_PROTOCOL, CUT))

    def _stalled(self, number: int, seconds: float) -> Answer | None:
        parts = _after(self._pieces, self._framing, number)
        if parts is None:
            return None
        head, rest = parts
        wait, chunk = rest[0] if rest else (0.0, b"")
        return self._given(head, [(wait + seconds, chunk), *rest[1:]], whole=True)

    def _at_event(self, fault: Fault, path: str) -> Answer | None:
        before, through = (_after(self._pieces, self._framing, number) for number in (fault.number - 1, fault.number))
        if self._framing is None or before is None or through is None:
            return None
        (head, ((wait, _), *_)), (_, rest) = before, through
        if fault.act is Act.ERROR_EVENT:
            return self._given(head, [(wait, error_event(wire_of(path), self._framing, fault.number))], whole=False)
        raw = b"".join(chunk for _, chunk in through[0])[sum(len(chunk) for _, chunk in head) :]
        return self._given(head, [(wait, damaged(self._framing, raw)), *rest], whole=True)

    def _truncated(self, number: int) -> Answer | None:
        if self._framing is not None or number >= sum(len(chunk) for _, chunk in self._pieces):
            return None
        return self._given(_split(self._pieces, number)[0], [], whole=False)

    def _given(self, head: Sequence[Piece], rest: Sequence[Piece], *, whole: bool) -> Answer:
        """The answer with these pieces; between the two parts the fault is met. whole: it ends as it did."""
        return replace(
            self._answer,
            chunks=_passing(head, rest, self._met),
            waits=[wait for wait, _ in (*head, *rest)],
            exception=self._answer.exception if whole else None,
            read_on=self._answer.read_on if whole else None,
        )


def damaged(framing: events.Framing, raw: bytes) -> bytes:
    """An event of which the second half of its data was lost, and not its end."""
    lines = raw.rstrip(b"\r\n")
    end = raw[len(lines) :] or (b"\n\n" if framing == "sse" else b"\n")
    start = lines.rfind(b"data:") if framing == "sse" else -1
    start = start + len(b"data:") if start >= 0 else 0
    return lines[: start + max(1, (len(lines) - start) // 2)] + end


def _passing(head: Sequence[Piece], rest: Sequence[Piece], met: Callable[[], None]) -> Iterator[bytes]:
    for _, chunk in head:
        yield chunk
    met()
    for _, chunk in rest:
        yield chunk


def _after(
    pieces: Sequence[Piece], framing: events.Framing | None, number: int
) -> tuple[list[Piece], list[Piece]] | None:
    """The pieces of the first `number` events, and the rest; None where there are fewer."""
    if framing is None:
        return (list(pieces[:number]), list(pieces[number:])) if number <= len(pieces) else None
    splitter = events.Splitter(framing)
    found = splitter.feed(b"".join(chunk for _, chunk in pieces))
    if last := splitter.end():
        found.append(last)
    return _split(pieces, sum(map(len, found[:number]))) if number <= len(found) else None


def _split(pieces: Sequence[Piece], offset: int) -> tuple[list[Piece], list[Piece]]:
    """The pieces up to a byte, and from there on."""
    head: list[Piece] = []
    for at, (wait, chunk) in enumerate(pieces):
        if offset < len(chunk):
            if not offset:
                return head, list(pieces[at:])
            return [*head, (wait, chunk[:offset])], [(0.0, chunk[offset:]), *pieces[at + 1 :]]
        head.append((wait, chunk))
        offset -= len(chunk)
    return head, []
