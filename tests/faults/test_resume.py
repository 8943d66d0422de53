"""A session whose last turn broke off in the middle of a call."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.faults.bench import Seen, left, pairs, traced, turn
from tests.faults.conftest import Chance
from tests.faults.conversations import BROKEN_OFF, RESUMED, Weather, approval_of, registry

from reference_stack.agent.events import TurnStarted
from reference_stack.agent.items import function_call_output
from reference_stack.agent.records import Record, items_of, of_item, of_mark
from reference_stack.agent.resume import open_rollout, resumed
from reference_stack.agent.rollout import encoded
from reference_stack.agent.rollout_reading import read_rollout
from reference_stack.agent.session import Session
from stackproof.faults.claim import ClaimUnderTest

SCHEDULES = 12
BROKEN: tuple[Record, ...] = (
    of_mark(TurnStarted(turn_id="turn_0")),
    *(of_item("turn_0", item) for item in BROKEN_OFF),
)
RESULT = of_item("turn_0", function_call_output("call_1", "sunny in Rome"))


async def broken_off(path: Path, torn: int) -> bytes:
    """A rollout that ends after a call; with as many bytes of its result as a writer had when it was killed."""
    writer, _ = await open_rollout(path)
    await writer.append(*BROKEN)
    await writer.aclose()
    return torn_at(path, torn)


def torn_at(path: Path, torn: int) -> bytes:
    whole = path.read_bytes()
    path.write_bytes(whole + encoded(len(BROKEN) + 1, RESULT)[:torn])
    return whole


@pytest.mark.claim("open-call-is-aborted-for-the-prompt-only")
def test_a_call_that_broke_off_has_a_result_in_prompts_and_nowhere_else(
    claim: ClaimUnderTest, chance: Chance, tmp_path: Path
) -> None:
    async def work(number: int, torn: int) -> None:
        path = tmp_path / f"{number}.jsonl"
        whole = await broken_off(path, torn)
        writer, found = await open_rollout(path)
        session, seen, model, weather = Session("session", found.history), Seen(), traced(RESUMED), Weather()
        await turn(
            RESUMED,
            session,
            model=model,
            plan=registry(weather).plan(),
            approval=approval_of(RESUMED),
            rollout=writer,
            emit=seen.emit,
        )
        await writer.aclose()
        kept = read_rollout(path)
        claim.observed(
            events=seen.told,
            residue={
                **left(session, kept.records),
                "pairs in the prompt": pairs(model.asked[0].history),
                "pairs in the rollout": pairs(items_of(kept.records)),
                "pairs in the next prompt": pairs(resumed(path).prompt),
                "what stood in the file still does": path.read_bytes().startswith(whole),
                "what was torn was said, and nothing else": (found.said is not None) == bool(torn),
                "tool runs": weather.begun,
            },
            seed=f"{chance.seed} {number}",
        )

    length = len(encoded(len(BROKEN) + 1, RESULT))
    cuts = [0, 1, length - 1, *(chance.random(number).randrange(length) for number in range(SCHEDULES))]
    for number, torn in enumerate(cuts):
        asyncio.run(asyncio.wait_for(work(number, torn), 5))
