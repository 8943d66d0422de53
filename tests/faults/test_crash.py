"""A process that is killed while it writes."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.faults import child
from tests.faults.bench import Memory, Script, Seen, Traced, left, session_of, turn, unpaired
from tests.faults.conftest import Chance
from tests.faults.conversations import TWO_CALLS, Conversation, Weather, approval_of, registry, spoken

from reference_stack.agent.items import ABORTED
from reference_stack.agent.model import Item
from reference_stack.agent.records import items_of
from reference_stack.agent.resume import open_rollout
from reference_stack.agent.rollout import RolloutBusyError
from reference_stack.agent.rollout_reading import read_rollout
from reference_stack.agent.session import Session
from stackproof.faults.claim import ClaimUnderTest
from stackproof.stack import proctable

AGAIN = Conversation(name="again", says="Are you still there?", script=(spoken("Yes, ", "I am."),))
PLACES = 40
MOMENTS = 8


class Nursery:
    """Processes that are made to be killed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._running: set[int] = set()

    def start(self, path: Path) -> int:
        """The id of a process that writes to this file until it is killed."""
        pid: int = self.ask(do="run", path=str(path))["pid"]
        self._running.add(pid)
        return pid

    def kill(self, pid: int) -> int:
        """Kill one that was started; what the kernel says of its end."""
        os.kill(pid, signal.SIGKILL)
        status: int = self.ask(do="reap", pid=pid)["status"]
        self._running.discard(pid)
        return status

    def close(self) -> None:
        """Leave none, also where a test ended early."""
        for pid in self._running:
            os.kill(pid, signal.SIGKILL)
        self._process.kill()

    def ask(self, **asked: object) -> dict[str, Any]:
        """What it answers."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        readable, _, _ = select.select([self._process.stdout], [], [], 10)
        assert readable, "the process that runs the others does not answer"
        told: dict[str, Any] = json.loads(self._process.stdout.readline())
        return told


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])}
    command = [sys.executable, child.__file__, "serve"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ, bufsize=1
    ) as process:
        made = Nursery(process)
        try:
            yield made
        finally:
            made.close()


def confirmed(path: Path) -> int:
    """How many records the process was told to be kept before it was killed."""
    report = path.with_suffix(child.CONFIRMED)
    return len(report.read_bytes()) if report.exists() else 0


@pytest.fixture(scope="module")
def unharmed() -> tuple[Item, ...]:
    """The items of a turn that nobody killed."""

    async def work() -> tuple[Item, ...]:
        session = session_of(TWO_CALLS)
        await turn(
            TWO_CALLS,
            session,
            model=Traced(Script(TWO_CALLS.script)),
            plan=registry(Weather()).plan(),
            approval=approval_of(TWO_CALLS),
            rollout=Memory(),
            emit=Seen().emit,
        )
        return session.history

    return asyncio.run(work())


def is_expected(history: Sequence[Item], unharmed: Sequence[Item]) -> bool:
    """Whether it is how far a process got: turn after turn, each as if nobody killed it."""
    return all(item == unharmed[number % len(unharmed)] for number, item in enumerate(history))


async def go_on(claim: ClaimUnderTest, path: Path, unharmed: Sequence[Item], status: int, seed: str) -> None:
    """Resume the session, run a turn, and look at everything."""
    before = read_rollout(path).records
    writer, found = await open_rollout(path)
    session, seen, model = Session("session", found.history), Seen(), Traced(Script(AGAIN.script))
    await turn(
        AGAIN,
        session,
        model=model,
        plan=registry(Weather()).plan(),
        approval=approval_of(AGAIN),
        rollout=writer,
        emit=seen.emit,
        turn_id="again",
    )
    await writer.aclose()
    after = read_rollout(path)
    history = items_of(before)
    claim.observed(
        events=seen.told,
        residue={
            "killed by": status,
            "confirmed and gone": max(0, confirmed(path) - len(before)),
            "history is how far it got": is_expected(history, unharmed),
            "rollout is history": left(session, after.records)["rollout is history"],
            "unpaired in the prompt": unpaired(model.asked[0].history),
            "aborted in the rollout": sum(item.get("output") == ABORTED for item in items_of(after.records)),
            "turns since": [record["event"] for record in after.records if record["record"] == "turn"][-2:],
            "torn": after.dropped,
            "terminal": left(session, ())["terminal"],
        },
        seed=seed,
    )


@pytest.mark.claim("killed-while-writing-resumes")
def test_a_process_killed_at_any_byte_of_its_rollout_can_be_resumed(
    claim: ClaimUnderTest, chance: Chance, nursery: Nursery, unharmed: tuple[Item, ...], tmp_path: Path
) -> None:
    good = tmp_path / "good.jsonl"
    nursery.ask(do="die", path=str(good), after=10**6, at_most=10**6)
    whole = good.read_bytes()
    ends = [place for place in range(1, len(whole)) if whole[place - 1 : place] == b"\n"]
    random = chance.random(0)
    places = [1, *ends, *(random.randrange(1, len(whole)) for _ in range(PLACES))]
    for number, place in enumerate(places):
        path = tmp_path / f"{number}.jsonl"
        status = nursery.ask(do="die", path=str(path), after=place, at_most=random.choice((5, 200, 10**6)))["status"]
        asyncio.run(asyncio.wait_for(go_on(claim, path, unharmed, status, f"{chance.seed} {place}"), 5))


@pytest.mark.claim("killed-while-writing-resumes")
def test_a_process_killed_at_any_moment_can_be_resumed(
    claim: ClaimUnderTest, chance: Chance, nursery: Nursery, unharmed: tuple[Item, ...], tmp_path: Path
) -> None:
    random = chance.random(0)
    for number in range(MOMENTS):
        path = tmp_path / f"{number}.jsonl"
        pid = nursery.start(path)
        begun(path)
        time.sleep(random.random() * 0.05)
        status = nursery.kill(pid)
        asyncio.run(asyncio.wait_for(go_on(claim, path, unharmed, status, f"{chance.seed} {number}"), 5))


@pytest.mark.claim("second-writer-is-refused")
def test_a_rollout_belongs_to_its_writer_until_that_is_gone(
    claim: ClaimUnderTest, nursery: Nursery, unharmed: tuple[Item, ...], tmp_path: Path
) -> None:
    path = tmp_path / "rollout.jsonl"
    pid = nursery.start(path)
    begun(path)
    os.kill(pid, signal.SIGSTOP)
    assert stopped(pid)
    before = path.read_bytes()
    refused = [asyncio.run(refusal(path)) for _ in range(2)]
    untouched = path.read_bytes() == before
    os.kill(pid, signal.SIGCONT)
    grows = begun(path, more_than=len(before))
    nursery.kill(pid)
    history = items_of(read_rollout(path).records)

    async def reopened() -> bool:
        writer, found = await open_rollout(path)
        await writer.aclose()
        return found.history == history

    claim.observed(
        events=[],
        residue={
            "refused": refused,
            "untouched": untouched,
            "the first one goes on": grows,
            "can be had when that is gone": asyncio.run(reopened()),
            "history is what one writer wrote": is_expected(history, unharmed),
        },
    )


async def refusal(path: Path) -> str:
    """Why nobody else may write to the file."""
    try:
        writer, _ = await open_rollout(path)
    except RolloutBusyError as error:
        return str(error).partition(" is ")[2]
    await writer.aclose()
    return "not refused"


def stopped(pid: int) -> bool:
    """Whether the process has come to a stand."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        entry = proctable.entry(pid)
        if entry is not None and entry.state == "T":
            return True
        time.sleep(0.001)
    return False


def begun(path: Path, *, more_than: int = 0) -> bool:
    """Whether the file grows beyond so many bytes, and records are confirmed."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        if path.exists() and path.stat().st_size > more_than and confirmed(path):
            return True
        time.sleep(0.001)
    return False
