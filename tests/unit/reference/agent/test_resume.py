"""What a session looks like after it was written down, also when it broke off."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from reference_stack.agent.events import TurnAborted, TurnCompleted, TurnStarted
from reference_stack.agent.items import assistant_message, function_call, function_call_output, user_message
from reference_stack.agent.model import Item, ToolCall
from reference_stack.agent.records import Record, of_item, of_mark
from reference_stack.agent.resume import for_prompt, open_rollout, resumed

HELLO, BYE, SAID = user_message("hello"), user_message("bye"), assistant_message("yes")


def call(name: str) -> Item:
    return function_call(ToolCall(call_id=name, name="clock", arguments="{}"))


def result(name: str) -> Item:
    return function_call_output(name, "12:00")


def aborted(name: str) -> Item:
    return function_call_output(name, "aborted")


@pytest.mark.parametrize(
    ("history", "prompt"),
    [
        ([], []),
        ([HELLO, call("a"), result("a")], [HELLO, call("a"), result("a")]),
        ([HELLO, call("a")], [HELLO, call("a"), aborted("a")]),
        (
            [HELLO, call("a"), call("b"), result("b"), BYE],
            [HELLO, call("a"), call("b"), result("b"), aborted("a"), BYE],
        ),
        ([call("a"), BYE, result("a")], [call("a"), BYE, result("a")]),
        # An id that comes again: the first call is the one that has no result.
        (
            [call("a"), HELLO, call("a"), result("a"), SAID],
            [call("a"), aborted("a"), HELLO, call("a"), result("a"), SAID],
        ),
    ],
)
def test_a_call_without_a_result_has_one_in_the_prompt_where_its_step_ends(
    history: list[Any], prompt: list[Any]
) -> None:
    before = list(history)
    assert list(for_prompt(history)) == prompt
    assert history == before


def kept(path: Path, *records: Record) -> None:
    async def work() -> None:
        writer, _ = await open_rollout(path)
        await writer.append(*records)
        await writer.aclose()

    asyncio.run(work())


def test_a_turn_that_broke_off_is_known_and_nothing_is_written_for_it(tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    kept(
        path,
        of_mark(TurnStarted(turn_id="turn_1")),
        of_item("turn_1", HELLO),
        of_mark(TurnCompleted(turn_id="turn_1")),
        of_mark(TurnStarted(turn_id="turn_2")),
        of_item("turn_2", BYE),
        of_item("turn_2", call("a")),
    )
    before = path.read_bytes()
    session = resumed(path)
    assert session.history == (HELLO, BYE, call("a"))
    assert session.prompt == (HELLO, BYE, call("a"), aborted("a"))
    assert (session.turn_id, session.terminal, session.said) == ("turn_2", None, None)
    kept(path)
    assert path.read_bytes() == before


def test_how_the_last_turn_ended_is_known(tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    kept(path)
    assert (resumed(path).turn_id, resumed(path).terminal) == (None, None)
    kept(path, of_mark(TurnStarted(turn_id="t")), of_mark(TurnAborted(turn_id="t", reason="enough")))
    assert (resumed(path).turn_id, resumed(path).terminal) == ("t", "turn_aborted")


def test_whoever_goes_on_is_told_of_a_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    kept(path, of_item("t", HELLO), of_item("t", BYE))
    path.write_bytes(path.read_bytes()[:-5])

    async def work() -> None:
        writer, session = await open_rollout(path)
        assert session.history == (HELLO,)
        assert session.said is not None
        assert "dropped" in session.said
        await writer.aclose()

    asyncio.run(work())
    assert resumed(path).said is None
