"""As much of HTTP/1.1 (RFC 9112) as a proxy of single exchanges needs: heads kept as raw lines, and request bodies."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass

MAX_HEAD = 64 * 1024
MAX_BODY = 64 * 1024 * 1024

# RFC 9110 section 7.6.1, without Transfer-Encoding: the framing of an answer is passed on as it came.
_HOP_BY_HOP = frozenset({b"connection", b"keep-alive", b"proxy-connection", b"te", b"upgrade"})


class MessageError(Exception):
    """The peer sent something that is no HTTP message, or closed in the middle of one."""


class BodyTooLargeError(MessageError):
    """A body of more than MAX_BODY bytes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """A start line and header lines, byte for byte, without line ends."""

    start: bytes
    lines: tuple[bytes, ...]

    @property
    def method(self) -> str:
        """Of a request: its method."""
        return self.start.split(b" ")[0].decode("ascii", "replace")

    @property
    def path(self) -> str:
        """Of a request: its path without the query."""
        parts = self.start.split(b" ")
        return parts[1].partition(b"?")[0].decode("ascii", "replace") if len(parts) > 1 else ""

    @property
    def status(self) -> int:
        """Of an answer: its status code. Raises MessageError when there is none."""
        parts = self.start.split(b" ")
        if len(parts) < 2 or not parts[1].isdigit():
            raise MessageError("an answer without a status code")
        return int(parts[1])

    def get(self, name: str) -> str | None:
        """The value of the first header of that name (lower case)."""
        wanted = name.encode("ascii")
        return next((_value(line) for line in self.lines if _name(line) == wanted), None)

    def without(self, *names: str) -> Head:
        """The same head without the headers of these names (lower case)."""
        dropped = {name.encode("ascii") for name in names}
        return Head(start=self.start, lines=tuple(line for line in self.lines if _name(line) not in dropped))

    def with_line(self, line: str) -> Head:
        """The same head with one more header line at its end."""
        return Head(start=self.start, lines=(*self.lines, line.encode("ascii")))

    def for_one_exchange(self) -> Head:
        """What the other side may see: no hop-by-hop headers, and a connection that closes after this exchange."""
        named = (self.get("connection") or "").lower().split(",")
        dropped = _HOP_BY_HOP | {token.strip().encode("ascii", "replace") for token in named}
        kept = tuple(line for line in self.lines if _name(line) not in dropped)
        return Head(start=self.start, lines=(*kept, b"Connection: close"))

    def encode(self) -> bytes:
        """The bytes on the wire, with the empty line."""
        return b"\r\n".join((self.start, *self.lines, b"", b""))


async def read_head(reader: asyncio.StreamReader) -> Head | None:
    """The next head; None when the peer closed before its first byte. Raises MessageError."""
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise MessageError("the connection closed within a head") from error
        return None
    except asyncio.LimitOverrunError as error:
        raise MessageError(f"a head of more than {MAX_HEAD} bytes") from error
    start, *lines = raw[:-4].split(b"\r\n")
    return Head(start=start, lines=tuple(lines))


async def read_body(reader: asyncio.StreamReader, head: Head, *, is_answer: bool = False) -> bytes:
    """The whole body, chunks joined. Without a length a request has none and an answer ends with the connection.

    Raises MessageError when it is cut off or badly framed, BodyTooLargeError beyond MAX_BODY.
    """
    try:
        if "chunked" in (head.get("transfer-encoding") or "").lower():
            return await _read_chunks(reader)
        declared = head.get("content-length")
        if declared is None:
            return await reader.read(MAX_BODY) if is_answer else b""
        if not declared.isdecimal():
            raise MessageError(f"a content-length of {declared!r}")
        if int(declared) > MAX_BODY:
            raise BodyTooLargeError(f"a body of {declared} bytes")
        return await reader.readexactly(int(declared))
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        raise MessageError("a body that was cut off") from error


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = bytearray()
    while True:
        line = await reader.readuntil(b"\r\n")
        try:
            size = int(line.split(b";")[0], 16)
        except ValueError as error:
            raise MessageError(f"a chunk size of {line[:20]!r}") from error
        if size < 0 or len(body) + size > MAX_BODY:
            raise BodyTooLargeError(f"a chunked body of more than {MAX_BODY} bytes")
        if size == 0:
            while await reader.readuntil(b"\r\n") != b"\r\n":
                pass  # trailers say nothing that is needed here
            return bytes(body)
        body += await reader.readexactly(size)
        await reader.readexactly(2)


def json_answer(status: str, body: object, *, server: str) -> bytes:
    """A complete JSON answer of our own, labelled by its `server` header."""
    raw = json.dumps(body, separators=(",", ":")).encode()
    head = Head(
        start=f"HTTP/1.1 {status}".encode("ascii"),
        lines=(
            f"server: {server}".encode("ascii"),
            b"Content-Type: application/json; charset=utf-8",
            f"Content-Length: {len(raw)}".encode("ascii"),
            b"Connection: close",
        ),
    )
    return head.encode() + raw


def _name(line: bytes) -> bytes:
    return line.partition(b":")[0].strip().lower()


def _value(line: bytes) -> str:
    return line.partition(b":")[2].strip().decode("latin-1")
