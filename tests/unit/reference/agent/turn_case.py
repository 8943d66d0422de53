"""A turn with a model, a tool and a reader that do as they are told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from reference_stack.agent.approval import AllowAll, ApprovalPolicy
from reference_stack.agent.cancel import CancelToken
from reference_stack.agent.events import (
    SessionEvent,
    ToolCalled,
    ToolEnded,
    TurnAborted,
    TurnCompleted,
    TurnEnd,
    TurnFailed,
)
from reference_stack.agent.items import user_message
from reference_stack.agent.model import Completed, Message, ModelEvent, ModelRequest, TextDelta, ToolCall, ToolSpec
from reference_stack.agent.records import Record
from reference_stack.agent.rollout import RolloutWriteError
from reference_stack.agent.session import Phase, Session
from reference_stack.agent.tools import ToolContext, ToolPlan, ToolRegistry
from reference_stack.agent.turn import TurnSettings, run_turn

T = TypeVar("T")


Step = Sequence[ModelEvent | Exception]


HELLO = user_message("hi")


DONE = Completed(response_id="r", usage={"input_tokens": 1, "output_tokens": 2})


def call(call_id: str = "c1", name: str = "t", arguments: str = "{}") -> ToolCall:
    return ToolCall(call_id=call_id, name=name, arguments=arguments)


SPEAKS: Step = (TextDelta(text="Hel"), TextDelta(text="lo."), Message(text="Hello."), DONE)


CALLS: Step = (call(), DONE)


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(work, 120))


class Model:
    """Answers by a script, step by step; `before` is awaited before each event."""

    def __init__(self, *steps: Step, before: Callable[[], Awaitable[None]] | None = None) -> None:
        self.steps = list(steps)
        self.before = before
        self.asked: list[ModelRequest] = []
        self.open = 0

    async def stream(self, request: ModelRequest, cancel: CancelToken) -> AsyncIterator[ModelEvent]:
        self.asked.append(request)
        self.open += 1
        try:
            for event in self.steps.pop(0):
                if self.before is not None:
                    await self.before()
                cancel.check()
                if isinstance(event, Exception):
                    raise event
                yield event
        finally:
            self.open -= 1


@dataclass
class Tool:
    answer: Callable[[], Awaitable[str]]
    name: str = "t"
    running: int = 0

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(name=self.name, description="", parameters={"type": "object"})

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> str:
        self.running += 1
        try:
            return await self.answer()
        finally:
            self.running -= 1


async def soon() -> str:
    return "fine"


@dataclass
class Kept:
    """A rollout in memory; `fail_at` is the number of the append that has no room."""

    records: list[Record] = field(default_factory=list)
    fail_at: int | None = None
    appends: int = 0
    before: Callable[[], Awaitable[None]] | None = None

    async def append(self, *records: Record) -> None:
        self.appends += 1
        if self.before is not None:
            await self.before()
        if self.fail_at is not None and self.appends >= self.fail_at:
            raise RolloutWriteError("The session could not be written down: there is no room left.")
        self.records += records

    @property
    def lines(self) -> list[str]:
        return [
            str(record["event"]) if record["record"] == "turn" else str(record["item"]["type"])
            for record in self.records
        ]


@dataclass
class Case:
    """One turn with everything around it, and what can be looked at afterwards."""

    model: Model
    tool: Tool = field(default_factory=lambda: Tool(soon))
    session: Session = field(default_factory=lambda: Session("s"))
    approval: ApprovalPolicy = field(default_factory=AllowAll)
    rollout: Kept = field(default_factory=Kept)
    returned: frozenset[str] = frozenset()
    max_steps: int = 8
    before_event: Callable[[], Awaitable[None]] | None = None
    events: list[SessionEvent] = field(default_factory=list)
    cancel: CancelToken = field(default_factory=CancelToken)
    registry: ToolRegistry = field(default_factory=ToolRegistry)

    def plan(self) -> ToolPlan:
        if self.registry.generation == 0:
            self.registry.register(self.tool)
        plan = self.registry.plan()
        return ToolPlan(generation=plan.generation, tools=plan.tools, specs=plan.specs, returned=self.returned)

    async def emit(self, event: SessionEvent) -> None:
        if self.before_event is not None:
            await self.before_event()
        self.events.append(event)

    async def turn(self, *, farewell: float = 1.0) -> TurnEnd:
        settings = TurnSettings(model="m", instructions="Be kind.", max_steps=self.max_steps, farewell=farewell)
        return await run_turn(
            self.session,
            [HELLO],
            turn_id="turn_1",
            settings=settings,
            model=self.model,
            plan=self.plan(),
            approval=self.approval,
            rollout=self.rollout,
            emit=self.emit,
            cancel=self.cancel,
        )

    @property
    def told(self) -> list[str]:
        return [event.type for event in self.events]

    @property
    def kinds(self) -> list[str]:
        return [str(item["type"]) for item in self.session.history]

    def check_the_end(self, end: TurnEnd) -> None:
        """What holds after every turn."""
        ends = [event for event in self.events if isinstance(event, TurnCompleted | TurnFailed | TurnAborted)]
        assert ends == [end] == [self.session.terminal]
        assert self.events[-1] == end
        assert self.session.phase is Phase.IDLE
        assert self.model.open == self.tool.running == 0
        called = [event.call_id for event in self.events if isinstance(event, ToolCalled)]
        ended = [event.call_id for event in self.events if isinstance(event, ToolEnded)]
        waiting = list(end.waiting_for) if isinstance(end, TurnCompleted) else []
        assert called == [*ended, *waiting], "each call that was told has one result, or waits for the caller"
        assert list(self.session.pending) == waiting
