"""A tool's program that does not end."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from tests.faults.bench import Memory, Seen, left, pairs, session_of, traced, turn
from tests.faults.conversations import SECONDS, TIMED_OUT, approval_of, program, registry

from reference_stack.agent.cancel import CancelToken
from reference_stack.agent.processes import Finished, Limits, ProcessManager
from stackproof.faults.claim import ClaimUnderTest
from stackproof.stack import proctable

# What the program starts before it waits. Each writes its process id, is deaf to SIGTERM, and stays.
DEAF = 'trap "" TERM; echo $$ > "$0"; while :; do sleep 0.05; done'
ESCAPES = {
    "child": "sh -c '{deaf}' child &",
    "session": "setsid sh -c '{deaf}' session &",
    "daemon": "(setsid sh -c '{deaf}' daemon &) &",
    "bare": "setsid env -i sh -c '{deaf}' bare &",  # without its environment
}
LIMITS = Limits(seconds=SECONDS, grace=0.1)


class Watched(ProcessManager):
    """Keeps how its commands ended."""

    def __init__(self) -> None:
        super().__init__(os.environ)
        self.finished: list[Finished] = []

    async def run(
        self,
        command: Sequence[str],
        *,
        limits: Limits = LIMITS,
        cancel: CancelToken | None = None,
        cwd: Path | None = None,
    ) -> Finished:
        """As it is."""
        done = await super().run(command, limits=limits, cancel=cancel, cwd=cwd)
        self.finished.append(done)
        return done


def ids(folder: Path) -> dict[str, int]:
    """The program and what it started, by name."""
    return {file.name: int(file.read_text()) for file in sorted(folder.iterdir())}


def running(started: Mapping[str, int]) -> list[str]:
    """Those that still run."""
    found = {name: proctable.entry(pid) for name, pid in started.items()}
    return [name for name, entry in found.items() if entry is not None and entry.running]


def clear(started: Mapping[str, int]) -> None:
    """End what is left where a claim does not hold."""
    for name in running(started):
        with suppress(OSError):
            os.kill(started[name], signal.SIGKILL)


def own_children() -> set[int]:
    return {item.pid for item in proctable.entries() if item.parent == os.getpid()}


def observe(claim: ClaimUnderTest, folder: Path, waits: str) -> None:
    """Run a turn whose program is past its deadline."""
    starts = "\n".join(start.format(deaf=DEAF) for start in ESCAPES.values())
    script = f"cd {folder}; echo $$ > leader\n{starts}\n{waits}"
    before = own_children()

    async def work() -> None:
        processes = Watched()
        session, memory, seen, model = session_of(TIMED_OUT), Memory(), Seen(), traced(TIMED_OUT)
        begun = time.monotonic()
        await turn(
            TIMED_OUT,
            session,
            model=model,
            plan=registry(program(processes, script, LIMITS)).plan(),
            approval=approval_of(TIMED_OUT),
            rollout=memory,
            emit=seen.emit,
        )
        started = ids(folder)
        left_running = running(started)
        clear(started)
        claim.observed(
            events=seen.told,
            residue={
                **left(session, memory.records),
                "pairs in the second request": pairs(model.asked[1].history),
                "registry": [running.command for running in processes.registry],
                "ended": [(done.ending, done.returncode) for done in processes.finished],
                "started": list(started),
                "still running": left_running,
                "children of ours": sorted(own_children() - before),
                "in a few seconds": time.monotonic() - begun < 6,
            },
        )

    asyncio.run(asyncio.wait_for(work(), 10))


@pytest.mark.claim("timed-out-process-is-gone")
def test_a_program_past_its_deadline_is_killed_with_all_that_it_started(claim: ClaimUnderTest, tmp_path: Path) -> None:
    observe(claim, tmp_path, 'trap "" TERM\nwhile :; do sleep 0.05; done')


@pytest.mark.claim("program-that-ends-leaves-no-orphan")
def test_a_program_that_ends_at_its_deadline_leaves_no_orphan(claim: ClaimUnderTest, tmp_path: Path) -> None:
    observe(claim, tmp_path, "exec sleep 60")
