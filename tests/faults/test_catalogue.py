"""A catalogue of tools that is read anew while a turn runs."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest
from tests.faults.bench import Memory, Seen, left, session_of, traced, turn
from tests.faults.conftest import Chance
from tests.faults.conversations import TWO_CALLS, Weather, approval_of, spec

from reference_stack.agent.tools import ToolRegistry
from stackproof.faults.claim import ClaimUnderTest

SCHEDULES = 25


@dataclass(kw_only=True, slots=True)
class Later(Weather):
    """The tool of the same name that the catalogue has afterwards."""

    answer: str = "rain"


@pytest.mark.claim("refreshed-catalogue-keeps-the-plan")
def test_a_turn_goes_on_with_the_tools_it_began_with(claim: ClaimUnderTest, chance: Chance) -> None:
    async def work(number: int) -> None:
        at = chance.random(number).randint(0, 40)
        tools, before, after = ToolRegistry(), Weather(), Later(spec=spec("weather", "Another one", "town"))
        tools.register(before)
        session, memory, seen, model = session_of(TWO_CALLS), Memory(), Seen(), traced(TWO_CALLS)

        async def refresh() -> None:
            for _ in range(at):
                await asyncio.sleep(0)
            tools.replace(after)

        running = asyncio.create_task(refresh())
        await turn(
            TWO_CALLS,
            session,
            model=model,
            plan=tools.plan(),
            approval=approval_of(TWO_CALLS),
            rollout=memory,
            emit=seen.emit,
        )
        in_time = running.done()
        await running
        assert in_time or at > 20, "the refresh fell into the turn"
        claim.observed(
            events=seen.told,
            residue={
                **left(session, memory.records),
                "generations asked with": [request.tool_generation for request in model.asked],
                "tools told of": [[tool.description for tool in request.tools] for request in model.asked],
                "runs of the old tool": before.begun,
                "runs of the new tool": after.begun,
                "generation of the next turn": tools.plan().generation,
                "tools of the next turn": [tool.description for tool in tools.plan().specs],
            },
            seed=f"{chance.seed} {number}",
        )

    for number in range(SCHEDULES):
        asyncio.run(asyncio.wait_for(work(number), 5))
