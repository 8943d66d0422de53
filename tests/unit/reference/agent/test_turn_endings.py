"""Turns that break, are left by their reader, or are interrupted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from tests.unit.reference.agent.turn_case import CALLS, DONE, HELLO, SPEAKS, Case, Kept, Model, Step, Tool, call, run

from reference_stack.agent.approval import Decision
from reference_stack.agent.cancel import CancelToken
from reference_stack.agent.events import (
    TurnAborted,
    TurnCompleted,
    TurnEnd,
    TurnFailed,
)
from reference_stack.agent.failures import DamagedStreamError
from reference_stack.agent.mailbox import MailboxClosedError
from reference_stack.agent.model import Message, ModelEvent, ModelRequest, TextDelta


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
