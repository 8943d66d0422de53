"""A tool's program that does not end."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.faults.bench import Memory, Seen, left, pairs, session_of, traced, turn
from tests.faults.conversations import SECONDS, TIMED_OUT, approval_of, program, registry

from reference_stack.agent.cancel import CancelToken
from reference_stack.agent.process_child import Ending
from reference_stack.agent.processes import Finished, Limits, ProcessManager
from stackproof.faults.claim import ClaimUnderTest
from stackproof.stack import proctable

# What the program starts before it waits. Each writes its process id, is deaf to SIGTERM, and stays.
DEAF = 'trap "" TERM; echo $$ > "$0"; while :; do sleep 0.05; done'
ESCAPES = {
    "nothing": "",
    "child": "sh -c '{deaf}' {file} &",
    "session of its own": "setsid sh -c '{deaf}' {file} &",
    "daemon": "(setsid sh -c '{deaf}' {file} &) &",
    "without its environment": "setsid env -i sh -c '{deaf}' {file} &",
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


def running(files: list[Path]) -> list[str]:
    """Those that wrote their ids and still run."""
    pids = {file.name: int(file.read_text()) for file in files}
    found = {name: proctable.entry(pid) for name, pid in pids.items()}
    return [name for name, entry in found.items() if entry is not None and entry.running]


def own_children() -> set[int]:
    return {item.pid for item in proctable.entries() if item.parent == os.getpid()}


@pytest.mark.claim("timed-out-process-is-gone")
@pytest.mark.parametrize("escape", ESCAPES)
def test_a_program_past_its_deadline_is_killed_with_all_that_it_started(
    claim: ClaimUnderTest, tmp_path: Path, escape: str
) -> None:
    files = [tmp_path / "leader"] + ([] if escape == "nothing" else [tmp_path / "other"])
    starts = ESCAPES[escape].format(deaf=DEAF, file=tmp_path / "other")
    script = f"trap '' TERM; echo $$ > {tmp_path / 'leader'}\n{starts}\nwhile :; do sleep 0.05; done"
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
        claim.observed(
            events=seen.told,
            residue={
                **left(session, memory.records),
                "pairs in the second request": pairs(model.asked[1].history),
                "registry": processes.registry,
                "ended": [(done.ending, done.returncode) for done in processes.finished],
                "still running": running(files),
                "children of ours": sorted(own_children() - before),
                "within a second of the deadline": time.monotonic() - begun < SECONDS + LIMITS.grace + 1,
            },
        )
        assert [done.ending for done in processes.finished] == [Ending.TIMED_OUT]
        await processes.aclose()

    asyncio.run(work())
