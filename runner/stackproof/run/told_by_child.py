"""What a cell prints by itself, handed on line by line where a CI system reads the output: most of it is of others."""

from __future__ import annotations

import os
from collections.abc import Callable

_PIECE = 1 << 16
_LONGEST = 1 << 20  # of a line that does not end


class Handed:
    """The reading end of a pipe, as `fd`. say: takes a line."""

    def __init__(self, fd: int, say: Callable[[str], None]) -> None:
        os.set_blocking(fd, False)
        self._fd, self._say = fd, say
        self._rest = b""

    def look(self) -> None:
        """Hand on what has come since the last look; a line that has not ended waits for its end."""
        while piece := self._read():
            *lines, self._rest = (self._rest + piece).split(b"\n")
            for line in lines:
                self._tell(line)
            if len(self._rest) > _LONGEST:
                self._tell(self._rest)
                self._rest = b""

    def close(self) -> None:
        """The end, also where something that was left behind could still write."""
        self.look()
        if self._rest:
            self._tell(self._rest)
        os.close(self._fd)

    def _read(self) -> bytes:
        try:
            return os.read(self._fd, _PIECE)
        except BlockingIOError:
            return b""

    def _tell(self, line: bytes) -> None:
        self._say(line.removesuffix(b"\r").decode("utf-8", "replace"))
