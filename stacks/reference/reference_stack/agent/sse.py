"""Server-sent events, read strictly (https://html.spec.whatwg.org/multipage/server-sent-events.html).

A browser makes the best of damaged events. Here a damaged byte is an answer that cannot be trusted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from reference_stack.agent.failures import DamagedStreamError

LARGEST = 16 * 1024 * 1024
"""Bytes that one event may have."""

_LINE = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerEvent:
    """One event: its name ("message" where it has none), and its data."""

    name: str
    data: str


class ServerEvents:
    """Bytes in, as the network cuts them; events out. What this API does not use (`id`, `retry`) is passed over."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._looked = 0  # how much of the rest has no line's end for sure
        self._size = 0
        self._name = ""
        self._data: list[str] = []
        self._first = True

    def feed(self, piece: bytes) -> Iterator[ServerEvent]:
        """The events that end in this piece. Raises DamagedStreamError for bytes that are not UTF-8, or no event."""
        rest = self._rest
        rest += piece
        begin = 0
        while True:
            found = _LINE.search(rest, max(begin, self._looked))
            # A carriage return at the very end may be the first half of a line's end.
            if found is None or (found[0] == b"\r" and found.end() == len(rest)):
                break
            line, begin = bytes(rest[begin : found.start()]), found.end()
            self._count(len(line))
            event = self._line(line)
            if event is not None:
                yield event
        del rest[:begin]
        self._looked = max(0, len(rest) - 1)
        if self._size + len(rest) > LARGEST:
            self._count(len(rest))

    @property
    def unfinished(self) -> bool:
        """Whether an event has begun and not ended."""
        return bool(self._rest.strip(b"\r") or self._data or self._name)

    def _count(self, size: int) -> None:
        self._size += size
        if self._size > LARGEST:
            raise DamagedStreamError(f"An event of the model's answer has more than {LARGEST} bytes.")

    def _line(self, line: bytes) -> ServerEvent | None:
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            raise DamagedStreamError(f"The model's answer is not UTF-8: {error.reason} in {line[:60]!r}.") from error
        if self._first:
            text, self._first = text.removeprefix("\ufeff"), False
        if not text:
            return self._dispatch()
        field, _, value = text.partition(":")
        value = value.removeprefix(" ")
        match field:
            case "":  # a comment
                pass
            case "data":
                self._data.append(value)
            case "event":
                self._name = value
            case "id" | "retry":
                pass
            case _:
                raise DamagedStreamError(f"A line of the model's answer is no field of an event: {text[:60]!r}.")
        return None

    def _dispatch(self) -> ServerEvent | None:
        name, data, self._name, self._data, self._size = self._name, self._data, "", [], 0
        return ServerEvent(name=name or "message", data="\n".join(data)) if data else None
