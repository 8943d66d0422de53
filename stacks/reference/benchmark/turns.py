"""`python turns.py RESULT`: twenty offline turns of the agent runtime, each beside its floor.

A turn is a question, a call of a tool, its result and a text: two requests through the real runtime, the SDK's HTTP
client and Responses over SSE. It is replayed by the recorder; the floor is the same turn over a transport in memory.
Both run in this process and take turns, so that whatever slows the machine slows both. No provider is called: what is
replayed was recorded a moment before from a server of this file's own, into a folder that is gone afterwards.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import openai

from benchmark.answers import MODEL, TEXT, TOOL, in_memory, provider
from reference_stack.agent.approval import AllowAll
from reference_stack.agent.cancel import CancelToken
from reference_stack.agent.events import SessionEvent, TextDelta, TurnCompleted
from reference_stack.agent.items import user_message
from reference_stack.agent.model import ToolSpec
from reference_stack.agent.records import Unwritten
from reference_stack.agent.responses_client import ResponsesClient
from reference_stack.agent.session import Session
from reference_stack.agent.tools import ToolContext, ToolRegistry
from reference_stack.agent.turn import TurnSettings, run_turn
from stackproof.recorder.install import installed
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope, use
from stackproof.recorder.settings import Provider, Settings

WARM_UP, TURNS = 5, 20
_URL = "http://benchmark.invalid/v1"
_ROOT = "tests/integration"
_TEST = f"{_ROOT}/agents/test_turns.py::test_turns"
_EVENTS = ["turn_started", "tool_called", "tool_ended", "message", "turn_completed"]


class Weather:
    """The tool that the model calls."""

    spec = ToolSpec(
        name=TOOL,
        description="The weather in a city.",
        parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    )

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> str:
        """Always mild."""
        del context
        return f"mild in {arguments['city']}"


async def turn(model: ResponsesClient, number: int) -> None:
    """One turn to its end. Raises RuntimeError when it is not the one that was recorded."""
    session, registry, told = Session(f"session-{number}"), ToolRegistry(), list[SessionEvent]()
    registry.register(Weather())

    async def emit(event: SessionEvent) -> None:
        told.append(event)

    end = await run_turn(
        session,
        [user_message(f"Question {number}: what is the weather in Paris?")],
        turn_id=f"turn-{number}",
        settings=TurnSettings(model=MODEL, instructions="You are measured."),
        model=model,
        plan=registry.plan(),
        approval=AllowAll(),
        rollout=Unwritten(),
        emit=emit,
        cancel=CancelToken(),
    )
    kinds = [event.type for event in told if event.type != "text_delta"]
    text = "".join(event.text for event in told if isinstance(event, TextDelta))
    if not isinstance(end, TurnCompleted) or kinds != _EVENTS or text != TEXT or session.pending:
        raise RuntimeError(f"turn {number} went another way: {end}, {kinds}")


async def record(folder: Path) -> None:
    """Record the turns below `folder`."""
    with provider() as url, installed(_settings(folder, Mode.RECORD, url)) as brain:
        scope = Scope(name=_TEST, test_id=_TEST)
        with use(scope):
            async with openai.AsyncOpenAI(base_url=url, api_key="benchmark") as client:
                for number in range(WARM_UP + TURNS):
                    await turn(ResponsesClient(client, provider="benchmark"), number)
        written, _ = brain.store.promote(scope, replace=True)
    if written != 2 * (WARM_UP + TURNS):
        raise RuntimeError(f"{written} answers of {2 * (WARM_UP + TURNS)} were recorded")


async def measure(folder: Path) -> tuple[list[float], list[float]]:
    """Seconds of the turns, and of their floors."""
    turns: list[float] = []
    floors: list[float] = []
    async with AsyncExitStack() as stack:
        stack.enter_context(installed(_settings(folder, Mode.REPLAY, _URL)))
        transport = httpx2.AsyncClient(transport=httpx2.MockTransport(in_memory))
        replayed, floor = [
            ResponsesClient(await stack.enter_async_context(client), provider="benchmark")
            for client in (
                openai.AsyncOpenAI(base_url=_URL, api_key="benchmark"),
                openai.AsyncOpenAI(base_url=_URL, api_key="benchmark", http_client=transport),
            )
        ]
        scope = Scope(name=_TEST, test_id=_TEST)
        for number in range(WARM_UP + TURNS):
            if number == WARM_UP:
                gc.collect()
            kept = (turns, floors)
            pairs = list(zip((replayed, floor), kept, strict=True))
            for model, seconds in pairs if number % 2 else reversed(pairs):
                with use(replace(scope, attempt=1)):
                    began = time.perf_counter()
                    await turn(model, number)
                    taken = time.perf_counter() - began
                if number >= WARM_UP:
                    seconds.append(taken)
    return turns, floors


def _settings(folder: Path, mode: Mode, url: str) -> Settings:
    return Settings(
        mode=mode,
        recordings=str(folder / "recordings"),
        setup="benchmark",
        run_dir=str(folder / mode.value),
        run_id="benchmark",
        integration_root=_ROOT,
        providers=(Provider(name="benchmark", prefixes=(url,)),),
        provenance={"server": "loopback", "synthetic": True},
    )


def main(result: Path) -> None:
    """Record, measure, and write what was measured."""
    with tempfile.TemporaryDirectory(prefix="stackproof-turns-") as temporary:
        folder = Path(temporary)
        asyncio.run(record(folder))
        turns, floors = asyncio.run(measure(folder))
    result.write_text(json.dumps({"lines": [{"name": "turns", "turns": turns, "floor": floors}]}), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
