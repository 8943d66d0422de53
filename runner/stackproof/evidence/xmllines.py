"""Lines of a file that is parsed piece by piece, found only for those few places that somebody asks for.

expat keeps a line number too, and walks over every byte for it, one by one, from the last place that was asked for.
"""

from __future__ import annotations


class Lines:
    """Counts line ends up to places where tags begin, which are asked for in the order of the file."""

    def __init__(self) -> None:
        self._piece = b""
        self._start = 0  # the offset of the piece in the file
        self._at, self._line = 0, 1  # how far it is counted, and the line there
        self._open = 1  # the line of the last tag before the piece: it may end in here

    def feed(self, piece: bytes) -> None:
        """Go on to the next piece."""
        last, end = self._piece.rfind(b"<"), self._start + len(self._piece)
        if last >= 0:
            self._open = self.of(self._start + last)
        self.of(end)
        self._piece, self._start = piece, end

    def of(self, offset: int) -> int:
        """The line, from 1, of the tag that begins at that offset: in this piece, or the last one before it."""
        if offset < self._start:
            return self._open
        if offset > self._at:
            self._line += self._piece.count(b"\n", self._at - self._start, offset - self._start)
            self._at = offset
        return self._line
