"""One command from its start until it is reaped, without ever holding up the event loop."""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from enum import Enum
from pathlib import Path

from reference_stack.agent.failures import AgentError
from reference_stack.agent.process_exit import has_exited
from reference_stack.agent.process_family import Family
from reference_stack.agent.process_output import BoundedOutput
from reference_stack.agent.uninterrupted import in_thread

_KILLED_WITHIN = 5.0
_READ_WITHIN = 0.5
_STEP = 0.01
_CHUNK = 65536


class ProcessStartError(AgentError):
    """A command that cannot be started."""


class Ending(Enum):
    """Why a command is over."""

    EXITED = "exited"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"


class Child:
    """A command, its output and what it started. `ending` is set by whatever ends it first."""

    def __init__(self, command: Sequence[str], *, mark: str, output_bytes: int) -> None:
        self.command = tuple(command)
        self.output = BoundedOutput(output_bytes)
        self.ending: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()
        self.left: frozenset[int] = frozenset()
        self.since = time.monotonic()
        self._mark = mark
        self._popen: subprocess.Popen[bytes] | None = None
        self._one_at_a_time = asyncio.Lock()
        self._read_end = -1
        self._no_more = asyncio.Event()
        self._watch: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int | None:
        """Its process id, which is its group's too; None before it has started."""
        return None if self._popen is None else self._popen.pid

    @property
    def returncode(self) -> int | None:
        """As `subprocess` has it; None as long as it was not reaped."""
        return None if self._popen is None else self._popen.returncode

    def settle(self, ending: Ending) -> None:
        """It is to end, or has ended, for this reason, unless there is one already."""
        if not self.ending.done():
            self.ending.set_result(ending)

    async def start(self, *, environ: Mapping[str, str], cwd: Path | None) -> None:
        """Start it. Raises ProcessStartError. After a cancellation it may have started all the same: `end` it."""
        async with self._one_at_a_time:
            read_end, write_end = os.pipe()
            os.set_blocking(read_end, False)
            try:
                await in_thread(self._start, write_end, environ, cwd)
            except (OSError, ValueError, IndexError) as error:
                os.close(read_end)
                name = self.command[0] if self.command else ""
                raise ProcessStartError(f"The command {name!r} cannot be started: {error}.") from error
            except asyncio.CancelledError:
                os.close(read_end)
                raise
            self._read_end = read_end
            asyncio.get_running_loop().add_reader(read_end, self._read)
            self._watch = asyncio.ensure_future(self._until_it_exits())

    async def end(self, grace: float) -> None:
        """End what is left of it: SIGTERM, `grace` seconds, SIGKILL. `left` has the processes that are still there."""
        async with self._one_at_a_time:
            if self._popen is None:
                return
            family = Family(leader=self._popen.pid, mark=self._mark)
            try:
                await self._end_family(family, grace)
                if self._read_end >= 0:
                    # What is in the pipe is to be had. Whoever still holds its other end was not found.
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self._no_more.wait(), _READ_WITHIN)
            except asyncio.CancelledError:
                # The event loop itself is going away, and nobody comes after us.
                family.kill_at_once(_KILLED_WITHIN)
                raise
            finally:
                if self._watch is not None:
                    self._watch.cancel()
                self._close()
                self._popen.poll()

    async def _until_it_exits(self) -> None:
        if self._popen is not None:
            await has_exited(self._popen)
        self.settle(Ending.EXITED)

    async def _end_family(self, family: Family, grace: float) -> None:
        self.left = await _gone(family, 0)
        if self.left:
            await asyncio.to_thread(family.terminate)
            self.left = await _gone(family, grace)
        deadline = time.monotonic() + _KILLED_WITHIN
        while self.left and time.monotonic() < deadline:
            await asyncio.to_thread(family.kill)
            self.left = await _gone(family, 0.1)
        await asyncio.to_thread(family.reap)

    def _start(self, write_end: int, environ: Mapping[str, str], cwd: Path | None) -> None:
        try:
            self._popen = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=write_end,
                stderr=subprocess.STDOUT,
                env=environ,
                cwd=cwd,
                start_new_session=True,
            )
        finally:
            os.close(write_end)

    def _read(self) -> None:
        try:
            data = os.read(self._read_end, _CHUNK)
        except (BlockingIOError, InterruptedError):
            return
        self.output.add(data)
        if not data:
            self._no_more.set()
            self._close()

    def _close(self) -> None:
        if self._read_end >= 0:
            asyncio.get_running_loop().remove_reader(self._read_end)
            os.close(self._read_end)
            self._read_end = -1


async def _gone(family: Family, seconds: float) -> frozenset[int]:
    """Who still runs after so long; earlier when nobody does."""
    deadline = time.monotonic() + seconds
    while True:
        # Whoever is being started while its parent ends can be missed by one look, not by two.
        left = await asyncio.to_thread(family.running)
        if not left:
            await asyncio.sleep(_STEP)
            left = await asyncio.to_thread(family.running)
        if not left or time.monotonic() >= deadline:
            return left
        await asyncio.sleep(_STEP)
