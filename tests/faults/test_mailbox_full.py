"""A reader of a turn's events who is slower than the model."""

from __future__ import annotations

import asyncio

import pytest
from tests.faults.bench import Memory, as_told, left, session_of, traced, turn
from tests.faults.conftest import Chance
from tests.faults.conversations import LONG, Weather, approval_of, registry

from reference_stack.agent.events import SessionEvent, TextDelta
from reference_stack.agent.mailbox import Mailbox, MailboxClosedError
from stackproof.faults.claim import ClaimUnderTest

SCHEDULES = 15
CAPACITY = 3
DELTAS = 20
IDLE = 60  # steps of the event loop, of which the turn would need far fewer for its next event


@pytest.mark.claim("full-mailbox-makes-the-producer-wait")
def test_the_model_is_read_no_faster_than_the_events_of_its_turn(claim: ClaimUnderTest, chance: Chance) -> None:
    async def work(number: int) -> None:
        random = chance.random(number)
        session, memory, model = session_of(LONG), Memory(), traced(LONG)
        box: Mailbox[SessionEvent] = Mailbox(CAPACITY)
        read: list[SessionEvent] = []
        fullest = furthest = 0
        waited = False
        # Once at least, and early enough for the model to have more: else there would be nothing to hold up.
        idle_at = random.randrange(DELTAS // 2)

        async def reader() -> None:
            nonlocal fullest, furthest, waited
            try:
                while True:
                    for _ in range(IDLE if len(read) == idle_at else random.choice((0, 1, IDLE))):
                        await asyncio.sleep(0)
                        fullest = max(fullest, len(box))
                        waited = waited or box.producers == 1
                        # `turn_started` is an event of the turn alone, and the answer's end is none of its.
                        furthest = max(furthest, min(model.given, DELTAS) + 1 - len(read) - len(box))
                    read.append(await box.get())
            except MailboxClosedError:
                return

        reading = asyncio.create_task(reader())
        await turn(
            LONG,
            session,
            model=model,
            plan=registry(Weather()).plan(),
            approval=approval_of(LONG),
            rollout=memory,
            emit=box.put,
        )
        box.close()
        await reading
        deltas = [event.text for event in read if isinstance(event, TextDelta)]
        claim.observed(
            events=[as_told(event) for event in read],
            residue={
                **left(session, memory.records),
                "fullest": fullest,
                "the producer waited": waited,
                "events of the model ahead of the mailbox, at most": furthest,
                "text": "".join(deltas),
                "in the mailbox": len(box),
                "waiting": [box.producers, box.consumers],
            },
            seed=f"{chance.seed} {number}",
        )

    for number in range(SCHEDULES):
        asyncio.run(asyncio.wait_for(work(number), 5))
