"""Items and the records of them: what is open, and what a history is made of again."""

from __future__ import annotations

from reference_stack.agent.events import TurnAborted, TurnCompleted, TurnFailed, TurnStarted
from reference_stack.agent.items import assistant_message, function_call, function_call_output, open_calls, user_message
from reference_stack.agent.model import ToolCall
from reference_stack.agent.records import items_of, of_item, of_mark

CALL = function_call(ToolCall(call_id="c1", name="t", arguments="{}"))


def test_calls_without_a_result_are_open_in_their_order() -> None:
    other = function_call(ToolCall(call_id="c2", name="t", arguments="{}"))
    history = [user_message("hi"), CALL, other, assistant_message("wait"), function_call_output("c1", "done")]
    assert open_calls(history) == ("c2",)
    assert open_calls([CALL, other]) == ("c1", "c2")
    assert open_calls([function_call_output("c9", "of nothing")]) == ()


def test_a_history_is_made_of_its_records_again() -> None:
    history = (user_message("hi"), CALL, function_call_output("c1", "done"))
    records = [of_mark(TurnStarted(turn_id="t")), *(of_item("t", item) for item in history)]
    assert items_of([*records, of_mark(TurnCompleted(turn_id="t"))]) == history


def test_a_mark_says_why() -> None:
    assert of_mark(TurnStarted(turn_id="t")) == {"record": "turn", "turn_id": "t", "event": "turn_started"}
    for event in (TurnFailed(turn_id="t", reason="broken"), TurnAborted(turn_id="t", reason="left")):
        assert of_mark(event) == {"record": "turn", "turn_id": "t", "event": event.type, "reason": event.reason}
