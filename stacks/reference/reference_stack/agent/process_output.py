"""What a command wrote, up to a limit: its begin and its end, and how much there was between them."""

from __future__ import annotations


class BoundedOutput:
    """Takes any amount of bytes and keeps at most `limit` of them, half from the begin and half from the end."""

    def __init__(self, limit: int) -> None:
        if limit < 0:
            raise ValueError(f"A limit of {limit} bytes is none.")
        self._head_limit = limit - limit // 2
        self._tail_limit = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._seen = 0

    def add(self, data: bytes) -> None:
        """What came next."""
        self._seen += len(data)
        room = self._head_limit - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > self._tail_limit:
            del self._tail[: len(self._tail) - self._tail_limit]

    @property
    def dropped(self) -> int:
        """How many bytes are not kept."""
        return self._seen - len(self._head) - len(self._tail)

    def text(self) -> str:
        """As text, with a line for what is not kept. A character that a limit cut in two is shown as a damaged one."""
        if not self.dropped:
            return (self._head + self._tail).decode(errors="replace")
        head, tail = self._head.decode(errors="replace"), self._tail.decode(errors="replace")
        return f"{head}\n[{self.dropped} bytes are left out here]\n{tail}"
