"""A reader of a turn's events who is gone."""

from __future__ import annotations

import asyncio

import pytest
from tests.faults.bench import Memory, left, others, session_of, traced, turn
from tests.faults.conversations import TWO_CALLS, Weather, approval_of, registry

from reference_stack.agent.events import SessionEvent
from reference_stack.agent.mailbox import Mailbox
from stackproof.faults.claim import ClaimUnderTest


@pytest.mark.claim("turn-that-nobody-reads-is-aborted")
def test_a_turn_whose_reader_leaves_at_any_step_ends_once_and_aborted(claim: ClaimUnderTest) -> None:
    async def work(step: int) -> bool:
        """Whether the turn ended for want of a reader."""
        known = asyncio.all_tasks()
        weather, session, memory, model = Weather(), session_of(TWO_CALLS), Memory(), traced(TWO_CALLS)
        box: Mailbox[SessionEvent] = Mailbox(1)
        read: list[SessionEvent] = []

        async def reader() -> None:
            while True:
                read.append(await box.get())

        async def leave() -> None:
            for _ in range(step):
                await asyncio.sleep(0)
            reading.cancel()
            box.close()

        reading, leaving = asyncio.create_task(reader()), asyncio.create_task(leave())
        end = await turn(
            TWO_CALLS,
            session,
            model=model,
            plan=registry(weather).plan(),
            approval=approval_of(TWO_CALLS),
            rollout=memory,
            emit=box.put,
        )
        await asyncio.wait({reading, leaving})
        if end.type == "turn_completed":
            return False
        claim.observed(
            events=[record["event"] for record in memory.records if record["record"] == "turn"],
            residue={
                **left(session, memory.records),
                "ends that were read": [event.type for event in read if event.type.startswith("turn_a")],
                "tools at work": weather.running,
                "answers that somebody still waits for": len(model.streams),
                "waiting": [box.producers, box.consumers],
                "tasks": await others(known),
            },
            seed=f"step {step}",
        )
        return True

    steps = late = 0
    while late < 3:
        late = 0 if asyncio.run(asyncio.wait_for(work(steps), 5)) else late + 1
        steps += 1
        assert steps < 400, "the turn has no end"
    assert steps > 30, "a turn has more steps than this: the reader left too late"
