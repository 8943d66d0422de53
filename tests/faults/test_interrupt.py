"""A turn that is interrupted: at each of its steps, and at random moments with a real file, program and connection."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from tests.faults.bench import Memory, as_told, left, others, session_of, traced, turn
from tests.faults.conftest import Chance
from tests.faults.conversations import TWO_CALLS, Weather, program, registry
from tests.faults.provider import CALL, MESSAGE, Answer, Provider, answered, on_the_wire, provided

from reference_stack.agent.approval import Allowed, Decision
from reference_stack.agent.cancel import CancelToken
from reference_stack.agent.events import SessionEvent
from reference_stack.agent.mailbox import Mailbox, MailboxClosedError
from reference_stack.agent.model import ModelClient
from reference_stack.agent.processes import Limits, ProcessManager
from reference_stack.agent.records import Record, Rollout
from reference_stack.agent.resume import open_rollout
from reference_stack.agent.rollout_reading import read_rollout
from reference_stack.agent.session import Session
from reference_stack.agent.tools import ToolPlan
from stackproof.faults.claim import ClaimUnderTest

CLAIM = "interrupted-turn-is-aborted-once"
SCHEDULES = 20


class How(Enum):
    """Who interrupts."""

    TOKEN = "token"
    TASK = "task"
    BOTH = "both"
    TWICE = "twice"


class Asked:
    """A policy that takes its time."""

    async def decide(self, name: str, arguments: Mapping[str, Any]) -> Decision:
        """Yes, after a while."""
        del name, arguments
        for _ in range(2):
            await asyncio.sleep(0)
        return Allowed()


@dataclass(kw_only=True, slots=True)
class Interrupted:
    """What came of a turn. late: it was over before it was interrupted."""

    session: Session
    told: list[SessionEvent] = field(default_factory=list)
    late: bool = False
    tasks: list[str] = field(default_factory=list)


async def interrupt(running: asyncio.Task[Any], cancel: CancelToken, how: How) -> None:
    match how:
        case How.TOKEN:
            cancel.cancel("enough")
        case How.TASK:
            running.cancel()
        case How.BOTH:
            cancel.cancel("enough")
            running.cancel()
        case How.TWICE:
            running.cancel()
            await asyncio.sleep(0)
            running.cancel()
            cancel.cancel("enough")


async def run_interrupted(
    model: ModelClient, plan: ToolPlan, rollout: Rollout, how: How, moment: asyncio.Future[None] | int, *, first: bool
) -> Interrupted:
    """Run the turn and interrupt it at a moment, or after so many steps of the event loop.

    first: whether the one who interrupts comes before the turn in each step, or behind it.
    """
    known = asyncio.all_tasks()
    done = Interrupted(session=session_of(TWO_CALLS))
    box: Mailbox[SessionEvent] = Mailbox(1)
    cancel = CancelToken()

    async def read() -> None:
        with suppress(MailboxClosedError):
            while True:
                done.told.append(await box.get())
                for _ in range(3):  # so that the turn waits for him, too
                    await asyncio.sleep(0)

    async def strike() -> None:
        if isinstance(moment, int):
            for _ in range(moment):
                await asyncio.sleep(0)
        else:
            await moment
        done.late = running.done()
        await interrupt(running, cancel, how)

    reading = asyncio.create_task(read())
    striking = asyncio.create_task(strike()) if first else None
    running = asyncio.create_task(
        turn(
            TWO_CALLS,
            done.session,
            model=model,
            plan=plan,
            approval=Asked(),
            rollout=rollout,
            emit=box.put,
            cancel=cancel,
        )
    )
    striking = striking or asyncio.create_task(strike())
    await asyncio.wait({running}, timeout=4)
    assert running.done(), "the turn did not end"
    if not running.cancelled():
        running.result()
    box.close()
    await asyncio.wait({reading, striking}, timeout=1)
    done.tasks = [name for name in await others(known) if name != Provider.TASK]
    return done


def observe(
    claim: ClaimUnderTest, done: Interrupted, records: Sequence[Record], residue: Mapping[str, object], seed: str
) -> bool:
    """Whether the turn was interrupted before its end."""
    terminal = done.session.terminal
    if terminal is None:
        # Its task was cancelled before it could begin: then there is no turn.
        assert (done.session.turn_id, done.told, list(records), done.tasks) == (None, [], [], [])
        return True
    if terminal.type == "turn_completed":
        # It was over in the moment of the interruption: then it completed, once, and wrote that down.
        assert [event.type for event in done.told].count("turn_completed") == 1, seed
        assert left(done.session, records)["turns"] == ["turn_started", "turn_completed"]
        return False
    claim.observed(
        events=[as_told(event) for event in done.told],
        residue={**left(done.session, records), "tasks": done.tasks, **residue},
        seed=seed,
    )
    return True


@pytest.mark.claim(CLAIM)
@pytest.mark.parametrize("first", [True, False], ids=["before", "behind"])
@pytest.mark.parametrize("how", How, ids=lambda how: how.value)
def test_a_turn_that_is_interrupted_at_any_step_ends_once_and_aborted(
    claim: ClaimUnderTest, how: How, first: bool
) -> None:
    async def work(step: int) -> Interrupted:
        weather, memory, model = Weather(), Memory(), traced(TWO_CALLS)
        plan = registry(weather).plan()
        done = await run_interrupted(model, plan, memory, how, step, first=first)
        residue = {
            "tools at work": weather.running,
            "programs": [],
            "answers that somebody still waits for": len(model.streams),
        }
        if not observe(claim, done, memory.records, residue, f"step {step}"):
            done.late = True
        return done

    step = late = 0
    while late < 3:
        done = asyncio.run(work(step))
        late = late + 1 if done.late else 0
        step += 1
        assert step < 400, "the turn has no end"
    assert step > 40, "a turn has more steps than this: the interruption came too late"


@pytest.mark.claim(CLAIM)
def test_a_turn_that_is_interrupted_at_random_leaves_no_program_and_no_half_answer(
    claim: ClaimUnderTest, chance: Chance, tmp_path: Path
) -> None:
    script = "sleep 0.05 & echo done; wait"
    pieces = on_the_wire(answered(MESSAGE, {**CALL, "name": "report"}))
    spoken_pieces = on_the_wire(answered(MESSAGE))

    async def work(number: int) -> bool:
        random = chance.random(number)
        how, first = random.choice(tuple(How)), random.random() < 0.5
        path = tmp_path / f"{number}.jsonl"
        processes = ProcessManager(os.environ)
        writer, _ = await open_rollout(path)
        plan = registry(program(processes, script, Limits(seconds=3, grace=0.05))).plan()
        moment: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(random.random() * 0.2, moment.set_result, None)
        async with provided(Answer(pieces=pieces), Answer(pieces=spoken_pieces)) as (provider, client):
            done = await run_interrupted(client, plan, writer, how, moment, first=first)
            await writer.aclose()
            residue = {
                "tools at work": 0,
                "programs": [running.command for running in processes.registry],
                "answers that somebody still waits for": await provider.settled(),
            }
            return observe(claim, done, read_rollout(path).records, residue, f"{chance.seed} {number} {how.value}")

    interrupted = [asyncio.run(asyncio.wait_for(work(number), 8)) for number in range(SCHEDULES)]
    assert any(interrupted)
