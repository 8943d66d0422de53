"""Writing a session's records down as JSON lines: each at most once, whatever goes wrong in between."""

from __future__ import annotations

import asyncio
import errno
import json
from collections.abc import Mapping
from typing import Any, Protocol

from reference_stack.agent.failures import AgentError
from reference_stack.agent.records import Record
from reference_stack.agent.uninterrupted import in_thread, uninterrupted


class RolloutError(AgentError):
    """A rollout could not be written or read."""


class RolloutBusyError(RolloutError):
    """Somebody else writes it."""


class RolloutWriteError(RolloutError):
    """A record is not kept. `unconfirmed`: how many bytes wait to be tried again."""

    def __init__(self, text: str, *, unconfirmed: int = 0) -> None:
        super().__init__(text)
        self.unconfirmed = unconfirmed


class Sink(Protocol):
    """Where bytes go: a file, or what a test puts in its place."""

    def write(self, data: bytes) -> int:
        """How many bytes were taken, from the begin of `data`: all, or fewer. Raises OSError where none was."""
        ...

    def sync(self) -> None:
        """Returns when what was taken is kept. Raises OSError."""
        ...

    def close(self) -> None:
        """Nothing is written any more."""
        ...


class RolloutWriter:
    """Appends records to a sink. A record is kept when `append` returns, and on the medium with it.

    What the sink has not taken stays here and goes first the next time, from the byte where it stopped: so nothing that
    was taken is ever written twice, and nothing comes out of order. `begin` is the number of the first record, which is
    how many the file has already.
    """

    def __init__(self, sink: Sink, *, begin: int = 0) -> None:
        self._sink = sink
        self._next = begin
        self._unconfirmed = b""
        self._unsynced = False
        self._one_at_a_time = asyncio.Lock()

    @property
    def unconfirmed(self) -> bytes:
        """What the sink has not taken yet."""
        return self._unconfirmed

    async def append(self, *records: Record) -> None:
        """Keep the records, after everything that waits from before.

        Raises RolloutWriteError: then they wait as well, for the next `append` or `flush`, and are not to be given
        again. ValueError or TypeError for what is not JSON; then none of them waits. A cancellation is raised when the
        write that has begun is over.
        """
        async with self._one_at_a_time:
            lines = [encoded(number, record) for number, record in enumerate(records, self._next)]
            self._next += len(lines)
            self._unconfirmed += b"".join(lines)
            await in_thread(self._push)

    async def flush(self) -> None:
        """Try again what waits. Raises RolloutWriteError."""
        await self.append()

    async def aclose(self) -> None:
        """Let go of the sink; what still waits is lost. Safe to call again."""
        await uninterrupted(self._close())

    async def _close(self) -> None:
        async with self._one_at_a_time:
            self._sink.close()

    def _push(self) -> None:
        try:
            while self._unconfirmed:
                self._unsynced = True
                self._unconfirmed = self._unconfirmed[_taken(self._sink, self._unconfirmed) :]
            if self._unsynced:
                self._sink.sync()
                self._unsynced = False
        except OSError as error:
            raise RolloutWriteError(self._said(error), unconfirmed=len(self._unconfirmed)) from error

    def _said(self, error: OSError) -> str:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        why = "there is no room left" if full else error.strerror or str(error)
        return (
            f"The session could not be written down: {why}. What was kept before is whole; "
            f"{len(self._unconfirmed)} bytes wait to be tried again."
        )


def _taken(sink: Sink, data: bytes) -> int:
    taken = sink.write(data)
    if taken <= 0:
        raise OSError(errno.EIO, "the medium takes nothing")
    return taken


def encoded(number: int, record: Mapping[str, Any]) -> bytes:
    """The line of a record: its number in the file, and what it keeps. ASCII, so no line is longer than it seems."""
    return json.dumps({"n": number, **record}, allow_nan=False, separators=(",", ":")).encode("ascii") + b"\n"
