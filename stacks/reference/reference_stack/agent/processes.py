"""Running commands that leave nothing behind, however they end.

Each command leads a session and a process group of its own. When it ends by itself, at its deadline, when the turn is
cancelled and when the manager is closed, all that it started is ended: SIGTERM, a grace, SIGKILL; and it is reaped.
What nobody can end here is a process that left the group, lost its parent *and* threw away its environment, and what
runs on when this program itself is killed by SIGKILL.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reference_stack.agent.cancel import CancelToken
from reference_stack.agent.failures import AgentError
from reference_stack.agent.process_child import Child, Ending
from reference_stack.agent.process_family import MARK
from reference_stack.agent.uninterrupted import uninterrupted


class ProcessesClosedError(AgentError):
    """No command is started any more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What a command may use.

    seconds: until it is ended. grace: seconds from SIGTERM to SIGKILL. output_bytes: how much of its output is kept.
    """

    seconds: float = 60.0
    grace: float = 2.0
    output_bytes: int = 65536


DEFAULT = Limits()


@dataclass(frozen=True, kw_only=True, slots=True)
class Running:
    """A command that is not over. `pid` is None while it is being started, `since` is of `time.monotonic`."""

    pid: int | None
    command: tuple[str, ...]
    since: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Finished:
    """A command that is over.

    returncode: as `subprocess` has it, negative for the signal that ended it. output: what it wrote to its standard
    output and error; `dropped` bytes of it are not kept. left: processes that even SIGKILL did not end.
    """

    ending: Ending
    returncode: int | None
    output: str
    dropped: int
    seconds: float
    left: frozenset[int]


class ProcessManager:
    """Starts commands, and knows those that run. `environ` is what they get beside the mark that finds them."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = dict(environ)
        self._children: set[Child] = set()
        self._closed = False

    @property
    def registry(self) -> tuple[Running, ...]:
        """The commands that are not over, or of which something could not be ended; the oldest first."""
        found = [Running(pid=child.pid, command=child.command, since=child.since) for child in self._children]
        return tuple(sorted(found, key=lambda running: running.since))

    async def run(
        self,
        command: Sequence[str],
        *,
        limits: Limits = DEFAULT,
        cancel: CancelToken | None = None,
        cwd: Path | None = None,
    ) -> Finished:
        """Run a command to its end, whichever that is.

        It is over, with everything that it started, when this returns or raises; also when the calling task is
        cancelled. Raises ProcessStartError, and ProcessesClosedError after `aclose`.
        """
        if self._closed:
            raise ProcessesClosedError("No command is started any more.")
        mark = secrets.token_hex(8)
        child = Child(command, mark=mark, output_bytes=limits.output_bytes)
        self._children.add(child)
        try:
            await child.start(environ={**self._environ, MARK: mark}, cwd=cwd)
            ending = await _ending(child, limits.seconds, cancel)
        finally:
            await self._end(child, limits.grace)
        return Finished(
            ending=ending,
            returncode=child.returncode,
            output=child.output.text(),
            dropped=child.output.dropped,
            seconds=time.monotonic() - child.since,
            left=child.left,
        )

    async def aclose(self, grace: float = DEFAULT.grace) -> None:
        """End all commands, each of which returns as cancelled, and start no other. Safe to call again."""
        self._closed = True
        children = tuple(self._children)
        for child in children:
            child.settle(Ending.CANCELLED)
        await asyncio.gather(*(self._end(child, grace) for child in children))

    async def _end(self, child: Child, grace: float) -> None:
        try:
            await uninterrupted(child.end(grace))
        finally:
            if not child.left:
                self._children.discard(child)


async def _ending(child: Child, seconds: float, cancel: CancelToken | None) -> Ending:
    timer = asyncio.get_running_loop().call_later(seconds, child.settle, Ending.TIMED_OUT)
    watch = None if cancel is None else asyncio.ensure_future(_cancelled(child, cancel))
    try:
        return await asyncio.shield(child.ending)
    finally:
        timer.cancel()
        if watch is not None:
            watch.cancel()


async def _cancelled(child: Child, cancel: CancelToken) -> None:
    await cancel.wait()
    child.settle(Ending.CANCELLED)
