"""What a turn does, step by step: ask the model, take its whole answer, run the calls in it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, assert_never

from reference_stack.agent.approval import ApprovalPolicy
from reference_stack.agent.calls import result_of
from reference_stack.agent.cancel import CancelToken
from reference_stack.agent.events import (
    MessageAdded,
    TextDelta,
    ToolCalled,
    ToolEnded,
    ToolStatus,
    TurnCompleted,
    TurnEnd,
    TurnFailed,
    TurnStarted,
)
from reference_stack.agent.failures import DamagedStreamError, StepsExhaustedError, UnfinishedStreamError
from reference_stack.agent.items import ABORTED, assistant_message, function_call
from reference_stack.agent.model import Completed, Item, Message, ModelClient, ModelEvent, ModelRequest, ToolCall
from reference_stack.agent.model import TextDelta as ModelTextDelta
from reference_stack.agent.records import Record, Rollout, of_item, of_mark
from reference_stack.agent.rollout import RolloutError
from reference_stack.agent.session import Phase, Session
from reference_stack.agent.telling import Outbox
from reference_stack.agent.tools import ToolContext, ToolPlan
from reference_stack.agent.uninterrupted import uninterrupted
from reference_stack.agent.usage import added


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnSettings:
    """What every request of a turn says, and where the turn ends by force.

    options: as in `ModelRequest`. max_steps: how many answers of the model it may have. farewell: seconds that a reader
    of the events has for the last of them.
    """

    model: str
    instructions: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    max_steps: int = 8
    farewell: float = 5.0


@dataclass(slots=True)
class Steps:
    """One turn while it runs; `run_turn` says what its parts are. opened: the calls that were made in it."""

    session: Session
    turn_id: str
    settings: TurnSettings
    model: ModelClient
    plan: ToolPlan
    approval: ApprovalPolicy
    rollout: Rollout
    outbox: Outbox
    cancel: CancelToken
    usage: Mapping[str, Any] | None = None
    opened: dict[str, None] = field(default_factory=dict)

    async def begin(self, items: Sequence[Item]) -> None:
        """Write down what the user brought."""
        started = TurnStarted(turn_id=self.turn_id)
        self.outbox.note(started)
        await self._keep(of_mark(started), *(of_item(self.turn_id, item) for item in items))

    async def run(self) -> tuple[str, ...]:
        """The calls that the caller has to answer."""
        await self.outbox.tell()
        for step in range(self.settings.max_steps):
            calls = await self._step(step)
            waiting_for = await self._run(calls)
            if waiting_for or not calls:
                return waiting_for
        raise StepsExhaustedError(
            f"The model wants more tools after {self.settings.max_steps} answers, the most there may be."
        )

    async def end(self, end: TurnEnd) -> TurnEnd:
        """Leave nothing open, write the end down and tell it; what came of that."""
        records: list[Record] = []
        if not isinstance(end, TurnCompleted):
            # Not those from before this turn: what came of them is for others to say.
            for call_id in [name for name in self.opened if name in self.session.pending]:
                item = self.session.resolve(call_id, ABORTED)
                records.append(of_item(self.turn_id, item))
                self.outbox.note(self._ended(call_id, ToolStatus.ABORTED, ABORTED))
        try:
            await self._keep(*records, of_mark(end))
        except RolloutError as error:
            if isinstance(end, TurnCompleted):
                end = TurnFailed(turn_id=self.turn_id, reason=str(error), error=error)
        self.session.end(end)
        self.outbox.note(end)
        await self.outbox.tell_within(self.settings.farewell)
        return end

    async def _step(self, step: int) -> tuple[ToolCall, ...]:
        """One answer of the model, as a whole in the history; the calls in it."""
        self.session.enter(Phase.MODEL)
        found, completed = await self._answer(step)
        calls = tuple(event for event in found if isinstance(event, ToolCall))
        if len({call.call_id for call in calls}) < len(calls):
            raise DamagedStreamError("Two calls of the model's answer have the same id.")
        self.usage = added(self.usage, completed.usage)
        items = [item for event in found for item in _items(event)]
        self.session.add(items)
        self.opened |= dict.fromkeys(call.call_id for call in calls)
        for event in found:
            self.outbox.note(self._added(event))
        await self._keep(*(of_item(self.turn_id, item) for item in items))
        await self.outbox.tell()
        return calls

    async def _answer(self, step: int) -> tuple[list[Message | ToolCall], Completed]:
        request = ModelRequest(
            model=self.settings.model,
            instructions=self.settings.instructions,
            history=self.session.prompt,
            tools=self.plan.specs,
            step=step,
            tool_generation=self.plan.generation,
            options=self.settings.options,
        )
        found: list[Message | ToolCall] = []
        completed: Completed | None = None
        async with _closed(self.model.stream(request, self.cancel)) as events:
            async for event in events:
                self.cancel.check()
                if completed is not None:
                    raise DamagedStreamError("The model's answer went on after its end.")
                match event:
                    case ModelTextDelta():
                        part = sum(isinstance(other, Message) for other in found)
                        self.outbox.note(TextDelta(turn_id=self.turn_id, text=event.text, part=part))
                        await self.outbox.tell()
                    case Message() | ToolCall():
                        found.append(event)
                    case Completed():
                        completed = event
                    case _:
                        assert_never(event)
        if completed is None:
            raise UnfinishedStreamError("The model's answer ended before it was whole.")
        return found, completed

    async def _run(self, calls: Sequence[ToolCall]) -> tuple[str, ...]:
        """Run those calls that are the session's, one after the other; the ids of the others."""
        self.session.enter(Phase.TOOLS)
        for call in calls:
            if call.name in self.plan.returned:
                continue
            self.cancel.check()
            context = ToolContext(turn_id=self.turn_id, call_id=call.call_id, cancel=self.cancel)
            result = await result_of(call, self.plan, self.approval, context)
            item = self.session.resolve(call.call_id, result.output)
            self.outbox.note(self._ended(call.call_id, result.status, result.output))
            await self._keep(of_item(self.turn_id, item))
            await self.outbox.tell()
        return tuple(call.call_id for call in calls if call.name in self.plan.returned)

    async def _keep(self, *records: Record) -> None:
        # What is in the history is written down, whatever happens meanwhile.
        await uninterrupted(self.rollout.append(*records))

    def _added(self, event: Message | ToolCall) -> MessageAdded | ToolCalled:
        match event:
            case Message():
                return MessageAdded(turn_id=self.turn_id, text=event.text, items=event.items)
            case ToolCall():
                return ToolCalled(
                    turn_id=self.turn_id,
                    call_id=event.call_id,
                    name=event.name,
                    arguments=event.arguments,
                    items=event.items,
                )
        assert_never(event)

    def _ended(self, call_id: str, status: ToolStatus, output: str) -> ToolEnded:
        return ToolEnded(turn_id=self.turn_id, call_id=call_id, status=status, output=output)


def _items(event: Message | ToolCall) -> tuple[Item, ...]:
    if event.items:
        return event.items
    return (assistant_message(event.text) if isinstance(event, Message) else function_call(event),)


@asynccontextmanager
async def _closed(events: AsyncIterator[ModelEvent]) -> AsyncIterator[AsyncIterator[ModelEvent]]:
    """The iterator, closed at the end where it can be."""
    try:
        yield events
    finally:
        close = getattr(events, "aclose", None)
        if close is not None:
            await close()
