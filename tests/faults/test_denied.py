"""A denied call."""

from __future__ import annotations

import asyncio

import pytest
from tests.faults.bench import Memory, Seen, left, pairs, session_of, traced, turn
from tests.faults.conversations import DENIED, Weather, approval_of, registry

from reference_stack.agent.items import open_calls
from stackproof.faults.claim import ClaimUnderTest


@pytest.mark.claim("denied-call-has-a-paired-result")
def test_a_call_that_is_denied_does_not_run_and_has_its_result_in_the_next_request(claim: ClaimUnderTest) -> None:
    async def work() -> None:
        weather = Weather()
        session, memory, seen, model = session_of(DENIED), Memory(), Seen(), traced(DENIED)
        await turn(
            DENIED,
            session,
            model=model,
            plan=registry(weather).plan(),
            approval=approval_of(DENIED),
            rollout=memory,
            emit=seen.emit,
        )
        claim.observed(
            events=seen.told,
            residue={
                **left(session, memory.records),
                "tool runs": weather.begun,
                "pairs in the second request": pairs(model.asked[1].history),
                "requests": len(model.asked),
                "open calls in the rollout": open_calls(
                    record["item"] for record in memory.records if "item" in record
                ),
            },
        )

    asyncio.run(work())
