"""Responses for urllib3 over pieces of a body: what they give at once is never more than one piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any


class Body:
    """What `http.client.HTTPResponse` is to urllib3: `read` fills up, `read1` gives what is there."""

    def __init__(self, pieces: Iterator[bytes], on_close: Callable[[], None], live: Any) -> None:
        self._pieces = pieces
        self._on_close = on_close
        self.live = live  # the real response behind it, if there is one: it owns the connection
        self._rest = b""
        self.closed = False

    def read(self, amt: int | None = None) -> bytes:
        """`amt` bytes, or fewer at the end; all that follows without an amount."""
        parts: list[bytes] = []
        missing = amt
        while missing is None or missing > 0:
            piece = self.read1(missing)
            if not piece:
                break
            parts.append(piece)
            missing = None if missing is None else missing - len(piece)
        return b"".join(parts)

    def read1(self, amt: int | None = None) -> bytes:
        """At most one piece, and at most `amt` bytes of it; nothing at the end."""
        if not self._rest and not self.closed:
            try:
                self._rest = next(self._pieces, b"")
            finally:
                if not self._rest:  # at the end, or after a failure
                    self.close()
        if amt is None or amt < 0 or amt >= len(self._rest):
            piece, self._rest = self._rest, b""
        else:
            piece, self._rest = self._rest[:amt], self._rest[amt:]
        return piece

    def isclosed(self) -> bool:
        """Whether nothing more comes."""
        return self.closed

    def close(self) -> None:
        """Leave, or end."""
        if not self.closed:
            self.closed = True
            self._rest = b""
            self._on_close()


def make_response(module: ModuleType) -> type:
    """A subclass of urllib3's HTTPResponse whose `_fp` is a `Body`."""

    class Response(module.HTTPResponse):  # type: ignore[misc, name-defined]
        """Keeps the edges of its pieces where urllib3 keeps those of HTTP chunks."""

        def stream(self, amt: int | None = 65536, decode_content: bool | None = None) -> Iterator[bytes]:
            if "content-encoding" in self.headers:  # one that is not undone below: decoding makes its own pieces
                yield from super().stream(amt, decode_content)
                return
            if amt == 0:
                return
            buffered = len(self._decoded_buffer)
            if buffered:
                yield self._decoded_buffer.get(buffered)
            while piece := self._piece(amt):
                yield piece

        def read1(self, amt: int | None = None, decode_content: bool | None = None) -> bytes:
            if "content-encoding" in self.headers:
                return bytes(super().read1(amt, decode_content))
            if amt == 0:
                return b""
            buffered = len(self._decoded_buffer)
            if buffered:
                return bytes(self._decoded_buffer.get(buffered if amt is None or amt < 0 else min(amt, buffered)))
            return self._piece(amt)

        def _piece(self, amt: int | None) -> bytes:
            if self._fp is None:
                return b""
            try:
                with self._error_catcher():
                    piece = bytes(self._fp.read1(amt))
            finally:
                self._give_back()
            self._fp_bytes_read += len(piece)
            return piece

        def _raw_read(self, *args: Any, **kwargs: Any) -> Any:
            try:
                return super()._raw_read(*args, **kwargs)
            finally:
                self._give_back()

        def _give_back(self) -> None:
            # urllib3 learns from http.client that a body is over, and takes the connection back then.
            if self._fp is not None and self._fp.isclosed():
                self.release_conn()

        def release_conn(self) -> None:
            live = getattr(self._fp, "live", None)
            if live is not None:
                live.release_conn()
            super().release_conn()

        def close(self) -> None:
            live = getattr(self._fp, "live", None)
            try:
                super().close()
            finally:
                if live is not None:
                    live.close()

    return Response
