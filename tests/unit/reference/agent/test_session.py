"""A session knows what is in it, what is open, and that a turn ends once."""

from __future__ import annotations

import pytest

from reference_stack.agent.events import TurnAborted, TurnCompleted
from reference_stack.agent.items import function_call, function_call_output, user_message
from reference_stack.agent.model import ToolCall
from reference_stack.agent.session import Phase, Session

CALL = function_call(ToolCall(call_id="c1", name="t", arguments="{}"))


def test_calls_are_open_until_they_have_a_result() -> None:
    session = Session("s", [user_message("hi"), CALL])
    assert list(session.pending) == ["c1"]
    item = session.resolve("c1", "done")
    assert item == function_call_output("c1", "done")
    assert not session.pending
    assert session.history[-1] == item
    with pytest.raises(ValueError, match="no open call 'c1'"):
        session.resolve("c1", "again")


def test_a_model_never_sees_a_call_without_a_result() -> None:
    session = Session("s", [user_message("hi"), CALL])
    assert session.prompt == (user_message("hi"), CALL, function_call_output("c1", "aborted"))
    assert session.history == (user_message("hi"), CALL), "for the prompt only"


def test_one_turn_at_a_time_and_one_end_for_each() -> None:
    session = Session("s")
    session.begin("t1", [user_message("hi")])
    assert (session.phase, session.turn_id, session.terminal) == (Phase.MODEL, "t1", None)
    with pytest.raises(ValueError, match="a turn already"):
        session.begin("t2", [])
    with pytest.raises(ValueError, match="no turn t2"):
        session.end(TurnCompleted(turn_id="t2"))
    session.end(TurnCompleted(turn_id="t1"))
    assert (session.phase, session.terminal) == (Phase.IDLE, TurnCompleted(turn_id="t1"))
    with pytest.raises(ValueError, match="no turn t1"):
        session.end(TurnAborted(turn_id="t1", reason="late"))
    session.begin("t2", [])
    assert session.terminal is None


def test_a_history_that_was_handed_out_does_not_change() -> None:
    session = Session("s")
    before = session.history
    session.add([user_message("hi")])
    assert before == ()
