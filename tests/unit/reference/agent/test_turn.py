"""A turn: what is asked of the model, what is told, what is left; and one end, wherever it is interrupted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest

from reference_stack.agent.approval import AllowAll, ApprovalPolicy, Decision
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
from reference_stack.agent.failures import DamagedStreamError
from reference_stack.agent.items import user_message
from reference_stack.agent.mailbox import MailboxClosedError
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
    return asyncio.run(asyncio.wait_for(work, 10))


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


def test_a_model_that_speaks() -> None:
    case = Case(Model(SPEAKS))
    end = run(case.turn())
    case.check_the_end(end)
    assert case.told == ["turn_started", "text_delta", "text_delta", "message", "turn_completed"]
    assert end == TurnCompleted(turn_id="turn_1", usage=DONE.usage)
    assert case.kinds == ["message", "message"]
    assert case.rollout.lines == ["turn_started", "message", "message", "turn_completed"]


def test_the_second_request_has_the_call_and_its_result() -> None:
    case = Case(Model(CALLS, SPEAKS))
    end = run(case.turn())
    case.check_the_end(end)
    first, second = case.model.asked
    assert first.history == (HELLO,)
    assert (first.instructions, first.model, first.step, second.step) == ("Be kind.", "m", 0, 1)
    assert [item["type"] for item in second.history] == ["message", "function_call", "function_call_output"]
    assert second.history[2] == {"type": "function_call_output", "call_id": "c1", "output": "fine"}
    assert case.told == [
        "turn_started",
        "tool_called",
        "tool_ended",
        "text_delta",
        "text_delta",
        "message",
        "turn_completed",
    ]
    assert isinstance(end, TurnCompleted)
    assert end.usage == {"input_tokens": 2, "output_tokens": 4}


def test_the_providers_own_items_are_what_it_reads_again() -> None:
    items = ({"type": "reasoning", "id": "rs_1"}, {"type": "function_call", "id": "fc_1", "call_id": "c1"})
    step: Step = (ToolCall(call_id="c1", name="t", arguments="{}", items=items), DONE)
    case = Case(Model(step, SPEAKS))
    run(case.turn())
    assert case.model.asked[1].history[1:3] == items


def test_a_tool_of_the_caller_ends_the_turn() -> None:
    case = Case(Model((call("c1"), call("c2", "theirs"), DONE)), returned=frozenset({"theirs"}))
    end = run(case.turn())
    case.check_the_end(end)
    assert isinstance(end, TurnCompleted)
    assert end.waiting_for == ("c2",)
    assert case.kinds == ["message", "function_call", "function_call", "function_call_output"]


@pytest.mark.parametrize(
    ("wanted", "status", "word"),
    [
        (call(name="nothing"), "unknown", "there is no tool 'nothing'"),
        (call(arguments="[]"), "failed", "no JSON object"),
        (call(arguments='{"a'), "failed", "no JSON object"),
    ],
)
def test_a_call_that_cannot_be_run_goes_back_to_the_model_as_an_error(wanted: ToolCall, status: str, word: str) -> None:
    case = Case(Model((wanted, DONE), SPEAKS))
    end = run(case.turn())
    case.check_the_end(end)
    assert isinstance(end, TurnCompleted)
    (ended,) = [event for event in case.events if isinstance(event, ToolEnded)]
    assert ended.status.value == status
    assert word in case.model.asked[1].history[-1]["output"]


def test_a_turn_takes_no_more_steps_than_it_may() -> None:
    case = Case(Model(*[(call(f"c{number}"), DONE) for number in range(3)]), max_steps=3)
    end = run(case.turn())
    case.check_the_end(end)
    assert isinstance(end, TurnFailed)
    assert "after 3 answers" in end.reason
    assert len(case.model.asked) == 3


def test_a_plan_holds_for_the_whole_turn() -> None:
    case = Case(Model(CALLS, SPEAKS))

    async def change() -> str:
        async def other() -> str:
            return "other"

        case.registry.replace(Tool(other, name="u"))
        return "fine"

    case.tool = Tool(change)
    run(case.turn())
    first, second = case.model.asked
    assert (first.tools, first.tool_generation) == (second.tools, second.tool_generation)
    assert [spec.name for spec in second.tools] == ["t"]
    assert [spec.name for spec in case.registry.plan().specs] == ["u"]


@pytest.mark.parametrize(
    "step",
    [
        (TextDelta(text="Hel"), DamagedStreamError("broken")),
        (TextDelta(text="Hel"), Message(text="Hello."), call(), DamagedStreamError("broken")),
        (Message(text="Hello."), call()),
        (),
        (DONE, Message(text="late")),
        (call(), call(), DONE),
    ],
)
def test_nothing_of_a_broken_answer_is_kept(step: Step) -> None:
    case = Case(Model(step))
    end = run(case.turn())
    case.check_the_end(end)
    assert isinstance(end, TurnFailed)
    assert end.error is not None
    assert case.session.history == (HELLO,)
    assert case.rollout.lines == ["turn_started", "message", "turn_failed"]


def test_an_answer_that_breaks_later_leaves_the_steps_before() -> None:
    case = Case(Model(CALLS, (TextDelta(text="Hel"), DamagedStreamError("broken"))))
    case.check_the_end(run(case.turn()))
    assert case.kinds == ["message", "function_call", "function_call_output"]


def test_a_rollout_without_room_ends_the_turn_and_leaves_no_call_open() -> None:
    case = Case(Model(CALLS), rollout=Kept(fail_at=2))
    end = run(case.turn())
    case.check_the_end(end)
    assert isinstance(end, TurnFailed)
    assert "no room left" in end.reason
    assert case.session.history[-1]["output"] == "aborted"
    assert len(case.model.asked) == 1


def test_an_end_that_cannot_be_written_down_is_no_completion() -> None:
    case = Case(Model(SPEAKS), rollout=Kept(fail_at=3))
    end = run(case.turn())
    case.check_the_end(end)
    assert isinstance(end, TurnFailed)


def test_a_policy_that_breaks_ends_the_turn_and_is_raised() -> None:
    class Broken:
        async def decide(self, name: str, arguments: Mapping[str, Any]) -> Decision:
            raise RuntimeError("nobody there")

    case = Case(Model(CALLS), approval=Broken())
    with pytest.raises(RuntimeError, match="nobody there"):
        run(case.turn())
    assert isinstance(case.session.terminal, TurnFailed)
    case.check_the_end(case.session.terminal)
    assert case.session.history[-1]["output"] == "aborted"


def test_a_reader_who_left_ends_the_turn() -> None:
    case = Case(Model(CALLS, SPEAKS))
    told = 0

    async def leave() -> None:
        nonlocal told
        told += 1
        if told == 3:
            raise MailboxClosedError("The mailbox is closed.")

    case.before_event = leave
    end = run(case.turn())
    assert isinstance(end, TurnAborted)
    assert case.session.terminal == end
    assert not case.session.pending


def test_a_reader_who_does_not_read_does_not_keep_a_turn_from_ending() -> None:
    case = Case(Model(SPEAKS))

    async def never() -> None:
        await asyncio.sleep(60)

    case.before_event = never

    async def work() -> TurnEnd:
        asyncio.get_running_loop().call_later(0.02, case.cancel.cancel, "enough")
        return await case.turn(farewell=0.05)

    assert run(work()) == TurnAborted(turn_id="turn_1", reason="enough") == case.session.terminal


def test_a_model_that_looks_at_no_token_is_closed_by_its_turn() -> None:
    class Deaf(Model):
        async def stream(self, request: ModelRequest, cancel: CancelToken) -> AsyncIterator[ModelEvent]:
            self.open += 1
            try:
                while True:
                    yield TextDelta(text="on ")
            finally:
                await asyncio.sleep(0)
                self.open -= 1

    case = Case(Deaf())

    async def enough() -> None:
        if len(case.events) == 3:
            case.cancel.cancel("enough")

    case.before_event = enough
    end = run(case.turn())
    assert end == TurnAborted(turn_id="turn_1", reason="enough")
    case.check_the_end(end)


@pytest.mark.parametrize("cancels", [2, 5])
def test_a_turn_that_is_cancelled_again_and_again_ends_all_the_same(cancels: int) -> None:
    case = Case(Model(CALLS))

    async def waits() -> None:
        await asyncio.sleep(0.01)

    async def work() -> None:
        running = asyncio.Event()

        async def never() -> str:
            running.set()
            await asyncio.sleep(60)
            return "late"

        case.tool, case.before_event, case.rollout.before = Tool(never), waits, waits
        task = asyncio.ensure_future(case.turn())
        await running.wait()
        for _ in range(cancels):
            task.cancel()
            await asyncio.sleep(0.004)
        with pytest.raises(asyncio.CancelledError):
            await task

    run(work())
    assert isinstance(case.session.terminal, TurnAborted)
    case.check_the_end(case.session.terminal)
    assert case.rollout.lines == ["turn_started", "message", "function_call", "function_call_output", "turn_aborted"]


class Interrupts:
    """Counts the places where a turn waits, and interrupts it at one of them: by the token, or by its task."""

    def __init__(self, at: int, *, by_task: bool) -> None:
        self.at = at
        self.by_task = by_task
        self.seen = 0
        self.case: Case | None = None
        self.task: asyncio.Task[TurnEnd] | None = None

    async def place(self) -> None:
        here, self.seen = self.seen, self.seen + 1
        if here == self.at and self.case is not None and self.task is not None:
            if self.by_task:
                self.task.cancel()
            else:
                self.case.cancel.cancel("enough")
        # The interrupt arrives while this waits, before and after its end.
        for _ in range(3):
            await asyncio.sleep(0)

    async def answer(self) -> str:
        await self.place()
        return "fine"


def interrupted(at: int, *, by_task: bool) -> tuple[Case, Interrupts, TurnEnd | None]:
    interrupts = Interrupts(at, by_task=by_task)
    case = Case(
        Model(
            (TextDelta(text="I look."), Message(text="I look."), call("c1"), call("c2"), DONE),
            SPEAKS,
            before=interrupts.place,
        ),
        tool=Tool(interrupts.answer),
        rollout=Kept(before=interrupts.place),
        before_event=interrupts.place,
    )
    interrupts.case = case

    async def work() -> TurnEnd | None:
        interrupts.task = asyncio.ensure_future(case.turn())
        try:
            return await interrupts.task
        except asyncio.CancelledError:
            return None

    return case, interrupts, run(work())


def places() -> int:
    _, interrupts, end = interrupted(-1, by_task=False)
    assert isinstance(end, TurnCompleted)
    return interrupts.seen


@pytest.mark.parametrize("by_task", [False, True], ids=["token", "task"])
def test_wherever_a_turn_is_interrupted_it_ends_once_and_leaves_nothing_open(by_task: bool) -> None:
    count = places()
    assert count > 20
    aborted = 0
    for at in range(count):
        case, _, end = interrupted(at, by_task=by_task)
        terminal = case.session.terminal
        assert terminal is not None
        case.check_the_end(terminal)
        assert end == terminal or (by_task and end is None), at
        aborted += isinstance(terminal, TurnAborted)
        outputs = [item["call_id"] for item in case.session.history if item["type"] == "function_call_output"]
        calls = [item["call_id"] for item in case.session.history if item["type"] == "function_call"]
        assert outputs == calls, at
        assert case.rollout.lines.count(terminal.type) == 1
        assert case.rollout.lines[-1] == terminal.type
        assert case.rollout.lines[1:-1] == case.kinds, "what is in the history is written down"
    # The last places are those of the end itself, which has come then.
    assert count - 3 <= aborted < count
