"""Turns of the reference stack's runtime, whose model is a trace, and a look at what they leave."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, assert_never

from tests.faults.conversations import Conversation, Step

from reference_stack.agent import model as runtime
from reference_stack.agent.approval import ApprovalPolicy
from reference_stack.agent.cancel import CancelToken
from reference_stack.agent.events import Emit, SessionEvent, TurnEnd, TurnFailed
from reference_stack.agent.model import Item
from reference_stack.agent.records import Record, Rollout, items_of
from reference_stack.agent.session import Session
from reference_stack.agent.tools import ToolPlan
from reference_stack.agent.turn import TurnSettings, run_turn
from reference_stack.agent.uninterrupted import uninterrupted
from stackproof.trace import client as trace
from stackproof.trace.events import Completed, Message, ModelEvent, TextDelta, ToolCall
from stackproof.trace.replay import ReplayModelClient

TRACES = Path(__file__).parent / "traces"
SETTINGS = TurnSettings(model="model", instructions="Be brief.", farewell=1.0)


class Traced:
    """A client of `stackproof.trace` as the runtime's.

    asked: the requests so far. given: how many events. streams: answers that were neither read to their end nor closed.
    """

    def __init__(self, client: trace.ModelClient) -> None:
        self._client = client
        self.asked: list[runtime.ModelRequest] = []
        self.given = 0
        self.streams: set[Stream] = set()

    def stream(self, request: runtime.ModelRequest, cancel: CancelToken) -> AsyncIterator[runtime.ModelEvent]:
        """The other client's events, as the runtime's."""
        self.asked.append(request)
        return Stream(self, self._client.stream(_asked(request), cancel))


class Stream:
    """An answer. Who keeps it, as its client does, has nobody close it by losing it."""

    def __init__(self, owner: Traced, events: AsyncIterator[ModelEvent]) -> None:
        self._owner = owner
        self._events = events
        owner.streams.add(self)

    def __aiter__(self) -> Stream:
        return self

    async def __anext__(self) -> runtime.ModelEvent:
        try:
            event = await anext(self._events)
        except BaseException:
            self._owner.streams.discard(self)
            raise
        self._owner.given += 1
        return _told(event)

    async def aclose(self) -> None:
        """Stop."""
        self._owner.streams.discard(self)
        if (close := getattr(self._events, "aclose", None)) is not None:
            await close()


class Script:
    """A model that says what it was told to. Like a provider it refuses a history whose calls lack results."""

    def __init__(self, script: Iterable[Step]) -> None:
        self._script = iter(script)

    async def stream(self, request: trace.ModelRequest, cancel: trace.Cancellation) -> AsyncIterator[ModelEvent]:
        """The next answer."""
        wrong = {name: outputs for name, outputs in pairs(request.history).items() if len(outputs) != 1}
        assert not wrong, f"a provider refuses calls without exactly one result: {wrong}"
        for event in next(self._script):
            await asyncio.sleep(0)
            cancel.check()
            yield event


def traced(conversation: Conversation) -> Traced:
    """The model of a conversation, out of its trace."""
    return Traced(ReplayModelClient(TRACES / f"{conversation.name}.jsonl"))


def _asked(request: runtime.ModelRequest) -> trace.ModelRequest:
    return trace.ModelRequest(
        instructions=request.instructions or "",
        history=request.history,
        tools=tuple({"name": tool.name, "parameters": tool.parameters} for tool in request.tools),
        step_sequence=request.step,
        tool_generation=request.tool_generation,
        model=request.model,
    )


def _told(event: ModelEvent) -> runtime.ModelEvent:
    match event:
        case TextDelta():
            return runtime.TextDelta(text=event.text)
        case Message():
            return runtime.Message(text=event.text)
        case ToolCall():
            return runtime.ToolCall(call_id=event.call_id, name=event.name, arguments=event.arguments)
        case Completed():
            return runtime.Completed(response_id=event.response_id or "", usage=event.usage)
    assert_never(event)


@dataclass(kw_only=True, slots=True)
class Memory:
    """A rollout that keeps its records, and gives way while it does: once begun, an `append` comes to its end."""

    records: list[Record] = field(default_factory=list)

    async def append(self, *records: Record) -> None:
        """Keep them."""
        await uninterrupted(self._append(records))

    async def _append(self, records: Sequence[Record]) -> None:
        for _ in range(2):
            await asyncio.sleep(0)
        self.records += records


@dataclass(kw_only=True, slots=True)
class Seen:
    """Events as they are told."""

    events: list[SessionEvent] = field(default_factory=list)

    async def emit(self, event: SessionEvent) -> None:
        """One more."""
        await asyncio.sleep(0)
        self.events.append(event)

    @property
    def told(self) -> list[dict[str, object]]:
        """As a claim has them."""
        return [as_told(event) for event in self.events]


_PLAIN = ("call_id", "name", "status", "output", "reason")


def as_told(event: SessionEvent) -> dict[str, object]:
    """An event as a claim has it: its type and its plain fields."""
    return {"type": event.type, **{name: getattr(event, name) for name in _PLAIN if hasattr(event, name)}}


async def turn(
    conversation: Conversation,
    session: Session,
    *,
    model: runtime.ModelClient,
    plan: ToolPlan,
    approval: ApprovalPolicy,
    rollout: Rollout,
    emit: Emit,
    cancel: CancelToken | None = None,
    turn_id: str = "turn_1",
) -> TurnEnd:
    """Run the conversation's turn."""
    return await run_turn(
        session,
        conversation.items,
        turn_id=turn_id,
        settings=SETTINGS,
        model=model,
        plan=plan,
        approval=approval,
        rollout=rollout,
        emit=emit,
        cancel=cancel or CancelToken(),
    )


def session_of(conversation: Conversation) -> Session:
    """A session with what was before."""
    return Session("session", conversation.before)


def pairs(history: Iterable[Item]) -> dict[str, list[str]]:
    """The results of each call, in order. A result whose call is not there is a call's that begins with `?`."""
    found: dict[str, list[str]] = {}
    for item in history:
        match item.get("type"):
            case "function_call":
                found[item["call_id"]] = []
            case "function_call_output":
                found.setdefault(item["call_id"], ["?"]).append(item["output"])
            case _:
                pass
    return found


def unpaired(history: Iterable[Item]) -> list[str]:
    """Calls with another number of results than one."""
    return [name for name, outputs in pairs(history).items() if len(outputs) != 1]


def left(session: Session, records: Sequence[Record]) -> dict[str, object]:
    """What a turn leaves: in the session, and of it in the rollout."""
    terminal = session.terminal
    return {
        "pending": session.pending,
        "phase": session.phase,
        "terminal": None if terminal is None else terminal.type,
        "unpaired": unpaired(session.history),
        "turns": [record["event"] for record in records if record["record"] == "turn"],
        "rollout is history": items_of(records) == session.history,
    }


async def others(before: Iterable[asyncio.Task[Any]]) -> list[str]:
    """Tasks that are still there and were not before."""
    for _ in range(3):
        await asyncio.sleep(0)
    known = {*before, asyncio.current_task()}
    return [task.get_name() for task in asyncio.all_tasks() if task not in known]


def reason_of(end: TurnEnd) -> str:
    """Why a turn failed."""
    assert isinstance(end, TurnFailed), end
    return end.reason
