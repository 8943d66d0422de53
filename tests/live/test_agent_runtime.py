"""A turn of the agent runtime with a real model. It asks for the end of the protocol, and nothing of the wording.

It needs no server: the runtime asks the provider itself, through Responses.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import pytest

from reference_stack.agent.approval import AllowAll
from reference_stack.agent.cancel import CancelToken
from reference_stack.agent.events import SessionEvent, TurnCompleted, TurnEnd, TurnFailed
from reference_stack.agent.items import user_message
from reference_stack.agent.records import Unwritten
from reference_stack.agent.responses_client import ResponsesClient
from reference_stack.agent.session import Session
from reference_stack.agent.tools import ToolRegistry
from reference_stack.agent.turn import TurnSettings, run_turn
from reference_stack.clients import Clients, opened
from reference_stack.providers import configured
from stackproof.catalog.records import Wire
from stackproof.live.opt_in import LiveModel

DEADLINE = 100.0
# How often it asks again where it is told to wait or the provider is overloaded, and the seconds between.
RETRIES, PAUSE = 2, 2.0
AGAIN = frozenset({408, 409, 429, 500, 502, 503, 504})


def test_a_turn_is_completed(live_model: LiveModel, speaking: Callable[[Wire], str]) -> None:
    speaking(Wire.RESPONSES)
    told: list[SessionEvent] = []

    async def emit(event: SessionEvent) -> None:
        told.append(event)

    async def turn(clients: Mapping[str, Clients], number: int) -> TurnEnd:
        told.clear()
        return await run_turn(
            Session("live"),
            [user_message("Say hello.")],
            turn_id=f"live-{number}",
            settings=TurnSettings(model=live_model.model, options={"max_output_tokens": 1024}),
            model=ResponsesClient(clients[live_model.provider].openai, provider=live_model.provider),
            plan=ToolRegistry().plan(),
            approval=AllowAll(),
            rollout=Unwritten(),
            emit=emit,
            cancel=CancelToken(),
        )

    async def turns() -> TurnEnd:
        providers = [each for each in configured(live_model.variables) if each.name == live_model.provider]
        async with asyncio.timeout(DEADLINE), opened(providers, None) as clients:
            for number in range(1, RETRIES + 1):
                end = await turn(clients, number)
                if not (isinstance(end, TurnFailed) and getattr(end.error, "status", None) in AGAIN):
                    return end
                # The runtime asks once, and says what it was told.
                await asyncio.sleep(PAUSE)
            return await turn(clients, RETRIES + 1)

    end = asyncio.run(turns())
    if isinstance(end, TurnFailed):
        pytest.fail(f"the turn failed: {end.reason}", pytrace=False)
    assert isinstance(end, TurnCompleted), end
    assert told[0].type == "turn_started"
    ends = [event.type for event in told if event.type in ("turn_completed", "turn_failed", "turn_aborted")]
    assert ends == ["turn_completed"]
    assert told[-1].type == "turn_completed"
