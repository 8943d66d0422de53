"""Talks with a command in a container: its input and output through the engine, as Docker's exec has them.

The engine sends output in frames: one byte 1 (stdout) or 2 (stderr), three zeros, four bytes with the size, the bytes.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from typing import Any, Protocol

HEADER = struct.Struct(">BxxxI")
STDERR = 2
_PIECE = 1 << 16
_HEARD = 2000  # characters of what it complained of


class EndedError(Exception):
    """The command has ended, or the way to it; says what it complained of."""


class Stream(Protocol):
    """What the engine's exec gives: a socket, in whatever the way to the engine has wrapped it."""

    def sendall(self, data: bytes) -> None:
        """Send all of it."""

    def recv(self, size: int) -> bytes:
        """At most that much; empty at the end."""

    def settimeout(self, seconds: float) -> None:
        """OSError when a call takes longer."""

    def close(self) -> None:
        """No more."""


class Conversation:
    """Lines go in, lines and bytes come out. Not for several threads at once."""

    def __init__(self, stream: Stream, *, timeout: float, whole: Any = None) -> None:
        """timeout: seconds without a byte that count as its end. whole: lives with it, and is closed with it."""
        self._stream, self._whole = stream, whole
        self._stream.settimeout(timeout)
        self._said = bytearray()
        self._complained = b""

    def send(self, line: bytes) -> None:
        """One line to the command; EndedError when it is gone."""
        try:
            self._stream.sendall(line + b"\n")
        except OSError as error:
            raise EndedError(self._why(error)) from error

    def line(self) -> bytes:
        """The next line of its output, without its end."""
        while (end := self._said.find(b"\n")) < 0:
            self._hear()
        found = bytes(self._said[:end])
        del self._said[: end + 1]
        return found

    def read(self, size: int) -> bytes:
        """So many bytes of its output."""
        while len(self._said) < size:
            self._hear()
        found = bytes(self._said[:size])
        del self._said[:size]
        return found

    def close(self) -> None:
        """End it: the command reads the end of its input."""
        for item in (self._stream, self._whole):
            if item is not None:
                with contextlib.suppress(OSError):
                    item.close()

    def _hear(self) -> None:
        kind, size = HEADER.unpack(self._exactly(HEADER.size))
        data = self._exactly(size)
        if kind == STDERR:
            self._complained = (self._complained + data)[-_HEARD:]
        else:
            self._said += data

    def _exactly(self, size: int) -> bytes:
        got = bytearray()
        while len(got) < size:
            try:
                piece = self._stream.recv(min(_PIECE, size - len(got)))
            except (OSError, ValueError) as error:
                raise EndedError(self._why(error)) from error
            if not piece:
                raise EndedError(self._why(None))
            got += piece
        return bytes(got)

    def _why(self, error: Exception | None) -> str:
        lines = self._complained.decode("utf-8", "replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        if last:
            return last
        if isinstance(error, socket.timeout):
            return "it answered nothing in time"
        return "it has ended" if error is None else f"the way to it broke: {error}"
