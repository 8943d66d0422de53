"""A turn: what is asked of the model, what is told, what is left; and one end, wherever it is interrupted."""

from __future__ import annotations

import pytest
from tests.unit.reference.agent.turn_case import CALLS, DONE, HELLO, SPEAKS, Case, Model, Step, call, run

from reference_stack.agent.events import (
    ToolEnded,
    TurnCompleted,
    TurnFailed,
)
from reference_stack.agent.model import ToolCall


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
