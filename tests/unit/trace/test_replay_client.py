"""What the replay client serves, and what it refuses at once, before anything was yielded."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from tests.unit.trace.conftest import ANSWER, Scripted, Talk

from stackproof.trace import (
    CancelToken,
    Completed,
    DamagedTraceError,
    Message,
    ModelEvent,
    PartialTraceError,
    RecordingModelClient,
    ReplayModelClient,
    TextDelta,
    TraceCancelledError,
    TraceExhaustedError,
    TraceFileError,
    TraceLeftOverError,
    TraceMismatchError,
    UnknownEventError,
    Why,
)

SECOND: tuple[ModelEvent, ...] = (Message(text="Fog."), Completed())


@pytest.fixture
def recorded(path: Path, talk: Talk) -> Path:
    """Two exchanges: Oslo, then Oslo and Bergen."""
    client = RecordingModelClient(Scripted(answers=(ANSWER, SECOND)), path)
    talk.say(client, "Oslo?")
    talk.say(client, "Oslo?", "Bergen?")
    return path


def test_the_same_conversation_gets_the_same_events(recorded: Path, talk: Talk) -> None:
    before = recorded.read_bytes()
    with ReplayModelClient(recorded) as client:
        assert client.remaining == 2
        assert talk.say(client, "Oslo?") == list(ANSWER)
        assert talk.say(client, "Oslo?", "Bergen?") == list(SECOND)
        assert client.remaining == 0
    assert recorded.read_bytes() == before


def test_model_and_options_are_not_compared(recorded: Path, talk: Talk) -> None:
    client = ReplayModelClient(recorded)
    assert talk.say(client, "Oslo?", model="large", options={"temperature": 1}) == list(ANSWER)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"instructions": "Be kind."}, ("instructions", '"Be brief."', '"Be kind."')),
        ({"step_sequence": 7}, ("step_sequence", "0", "7")),
        ({"tool_generation": 2}, ("tool_generation", "0", "2")),
        ({"tools": ({"name": "weather"},)}, ("tools[0]", "nothing", '{"name": "weather"}')),
    ],
)
def test_a_changed_request_yields_nothing_and_says_where_it_differs(
    recorded: Path, talk: Talk, changed: dict[str, Any], told: tuple[str, str, str]
) -> None:
    got, (place, was, is_now) = list[ModelEvent](), told
    client = ReplayModelClient(recorded)
    with pytest.raises(TraceMismatchError) as caught:
        talk.say(client, "Oslo?", into=got, **changed)
    assert got == []
    assert client.remaining == 2
    lines = str(caught.value).splitlines()
    assert lines[0] == f"request 1 is not the one that was recorded at {recorded}, line 2"
    assert [line.strip() for line in lines[2:]] == [
        "differs in 1 place",
        place,
        f"recorded {was}",
        f"sent     {is_now}",
    ]
    assert all(len(line) <= 80 for line in lines[1:])


def test_the_part_of_long_texts_that_differs_is_shown(path: Path, talk: Talk) -> None:
    talk.say(RecordingModelClient(Scripted(), path), "a" * 500 + " in Oslo")
    with pytest.raises(TraceMismatchError) as caught:
        talk.say(ReplayModelClient(path), "a" * 500 + " in Bergen")
    assert f'recorded "…{"a" * 16} in Oslo"' in str(caught.value)
    assert f'sent     "…{"a" * 16} in Bergen"' in str(caught.value)


def test_the_nearest_exchange_is_named_where_it_is_not_the_next(recorded: Path, talk: Talk) -> None:
    with pytest.raises(TraceMismatchError) as caught:
        talk.say(ReplayModelClient(recorded), "Oslo?", "Trondheim?")
    text = str(caught.value)
    assert "the nearest is at line 3 and differs in 1 place" in text
    assert "history[1].content" in text


def test_a_request_out_of_order_is_refused_and_said_to_be_that(recorded: Path, talk: Talk) -> None:
    with pytest.raises(TraceMismatchError, match="the same request was recorded at line 3: the order is another"):
        talk.say(ReplayModelClient(recorded), "Oslo?", "Bergen?")


def test_a_longer_conversation_is_exhausted(recorded: Path, talk: Talk) -> None:
    client, got = ReplayModelClient(recorded), list[ModelEvent]()
    talk.say(client, "Oslo?")
    talk.say(client, "Oslo?", "Bergen?")
    with pytest.raises(TraceExhaustedError, match="holds 2 complete exchanges, and request 3 was sent"):
        talk.say(client, "Oslo?", "Bergen?", "Tromsø?", into=got)
    assert got == []


def test_a_shorter_conversation_is_told_at_its_end(recorded: Path, talk: Talk) -> None:
    with (
        pytest.raises(TraceLeftOverError, match=r"ended with 1 exchange of 2 left in .*, from line 3 on"),
        ReplayModelClient(recorded) as client,
    ):
        talk.say(client, "Oslo?")


def test_an_error_of_the_test_itself_is_not_covered_by_what_is_left(recorded: Path) -> None:
    with pytest.raises(ZeroDivisionError), ReplayModelClient(recorded):
        _ = 1 / 0


def test_a_mismatch_that_the_code_under_test_swallowed_comes_again_at_the_end(recorded: Path, talk: Talk) -> None:
    def swallowing(client: ReplayModelClient) -> None:
        with pytest.raises(TraceMismatchError):
            talk.say(client, "Moss?")
        talk.say(client, "Oslo?")
        talk.say(client, "Oslo?", "Bergen?")

    with pytest.raises(TraceMismatchError, match="request 1"), ReplayModelClient(recorded) as client:
        swallowing(client)


def test_cancellation_is_honoured_between_events_and_the_exchange_can_be_asked_for_again(
    recorded: Path, talk: Talk
) -> None:
    client, got = ReplayModelClient(recorded), list[ModelEvent]()
    with pytest.raises(TraceCancelledError, match="enough"):
        talk.say(client, "Oslo?", cancel_after=2, into=got)
    assert got == list(ANSWER[:2])
    assert client.remaining == 2
    assert talk.say(client, "Oslo?") == list(ANSWER)


def test_another_task_may_cancel_between_two_events(recorded: Path, talk: Talk) -> None:
    got, cancel, started = list[ModelEvent](), CancelToken(), asyncio.Event()

    async def listen() -> None:
        async for event in ReplayModelClient(recorded).stream(talk.request("Oslo?"), cancel):
            got.append(event)
            started.set()

    async def interrupt() -> None:
        await started.wait()
        cancel.cancel("interrupted")

    async def both() -> None:
        listening = asyncio.create_task(listen())
        await interrupt()
        with pytest.raises(TraceCancelledError, match="interrupted"):
            await listening

    asyncio.run(both())
    assert 1 <= len(got) < len(ANSWER)


def test_a_stream_left_at_completed_is_used_up_and_one_left_sooner_is_not(recorded: Path, talk: Talk) -> None:
    client = ReplayModelClient(recorded)
    talk.say(client, "Oslo?", leave_after=1)
    assert client.remaining == 2
    talk.say(client, "Oslo?", leave_after=len(ANSWER))
    assert client.remaining == 1


def test_two_streams_at_once_never_get_the_same_exchange(path: Path, talk: Talk) -> None:
    recording = RecordingModelClient(Scripted(answers=(ANSWER, SECOND)), path)
    for _ in range(2):
        talk.say(recording, "Oslo?")
    client = ReplayModelClient(path)

    async def both() -> list[ModelEvent]:
        streams = [client.stream(talk.request("Oslo?"), CancelToken()) for _ in range(2)]
        firsts = [await anext(stream) for stream in streams]
        for stream in streams:
            await stream.aclose()  # type: ignore[attr-defined]
        return firsts

    assert asyncio.run(both()) == [ANSWER[0], SECOND[0]]


def test_a_partial_exchange_is_never_served(path: Path, talk: Talk) -> None:
    broken = (TextDelta(text="It "), ConnectionResetError("gone"))
    client = RecordingModelClient(Scripted(answers=(broken, SECOND)), path, partial=True)
    with pytest.raises(ConnectionResetError):
        talk.say(client, "Oslo?")
    talk.say(client, "Oslo?", "Bergen?")
    got = list[ModelEvent]()
    replay = ReplayModelClient(path)
    assert replay.remaining == 1
    with pytest.raises(PartialTraceError, match="line 2: broken after 1 event"):
        talk.say(replay, "Oslo?", into=got)
    assert got == []
    assert talk.say(replay, "Oslo?", "Bergen?") == list(SECOND)


def test_a_cancelled_request_that_was_sent_again_replays_its_complete_answer(path: Path, talk: Talk) -> None:
    client = RecordingModelClient(Scripted(), path, partial=True)
    with pytest.raises(TraceCancelledError):
        talk.say(client, "Oslo?", cancel_after=1)
    talk.say(client, "Oslo?")
    assert client.left_out == []
    with ReplayModelClient(path) as replay:
        assert talk.say(replay, "Oslo?") == list(ANSWER)


def test_conversations_that_share_a_file_replay_each_its_own(path: Path, talk: Talk) -> None:
    for name, answer in (("planner", ANSWER), ("writer", SECOND)):
        client = RecordingModelClient(Scripted(answers=(answer,)), path, conversation=name)
        talk.say(client, "Oslo?")
    for name, answer in (("writer", SECOND), ("planner", ANSWER)):
        with ReplayModelClient(path, conversation=name) as replay:
            assert talk.say(replay, "Oslo?") == list(answer)
    with pytest.raises(TraceExhaustedError, match=r"'cook' \(it has 'planner', 'writer'\)"):
        talk.say(ReplayModelClient(path, conversation="cook"), "Oslo?")


def test_an_empty_file_answers_nothing(path: Path, talk: Talk) -> None:
    path.touch()
    with pytest.raises(TraceExhaustedError, match="holds 0 complete exchanges"):
        talk.say(ReplayModelClient(path), "Oslo?")


def test_a_missing_file_is_told_when_the_client_is_made(path: Path) -> None:
    with pytest.raises(TraceFileError, match="there is no trace at"):
        ReplayModelClient(path)
    assert not path.exists()


def test_a_damaged_line_anywhere_is_told_before_the_first_answer(tmp_path: Path, talk: Talk) -> None:
    path = tmp_path / "talk.jsonl"
    client = RecordingModelClient(Scripted(answers=(ANSWER, SECOND)), path)
    talk.say(client, "Oslo?")
    talk.say(client, "Oslo?", "Bergen?")
    lines = path.read_text().splitlines(keepends=True)
    ended = '{"type":"completed","response_id":null,"usage":null}'
    for damaged, what in (
        (lines[2].replace('"message"', '"mesage"'), "event of the unknown type 'mesage', did you mean 'message'"),
        (lines[2][:-9] + "\n", "is no JSON"),
        ("[1]\n", "is JSON, but no object"),
        ("\n", "is no JSON"),
        (lines[0], "is a second header"),
        (lines[2].replace("Bergen", "Moss"), "its fingerprint does not belong"),
        (lines[2].replace('"events":', '"event":'), "has no events"),
        (lines[2].replace('"text":"Fog."', '"text":4'), "message whose text is a int"),
        (lines[2].replace('"text":"Fog."', '"text":"Fog.","at":1'), "message with at, which belongs to no such event"),
        (lines[2].replace('"text":"Fog."', '"text":"Fog.","items":[4]'), "message whose items are no list of objects"),
        (lines[2].replace('"usage":null', '"usage":null,"items":[]'), "completed with items, which belongs to no"),
        (lines[2].replace(',"usage":null', ""), "completed without usage"),
        (lines[2].replace('"events":[', '"events":[' + ended + ","), "do not end with the one `completed`"),
        (lines[2].replace('"events":[', '"events":[4,'), "an event that is no object"),
        (lines[2].replace('{"fing', '{"fingerprint":"x","fing'), "duplicate key"),
    ):  # fmt: skip
        path.write_text(lines[0] + lines[1] + damaged)
        with pytest.raises(DamagedTraceError, match="line 3, ") as caught:
            ReplayModelClient(path)
        assert what in str(caught.value)
        assert isinstance(caught.value, UnknownEventError) == ("mesage" in damaged)


def test_a_line_marked_partial_for_an_unknown_reason_is_damaged(tmp_path: Path, talk: Talk) -> None:
    path = tmp_path / "talk.jsonl"
    talk.say(RecordingModelClient(Scripted(), path, partial=True), "Oslo?", leave_after=1)
    path.write_text(path.read_text().replace(Why.LEFT.value, "bored"))
    with pytest.raises(DamagedTraceError, match="partial for an unknown reason: 'bored'"):
        ReplayModelClient(path)


def test_it_works_in_a_loop_that_is_not_asyncio(recorded: Path, talk: Talk) -> None:
    import trio

    got = list[ModelEvent]()

    async def listen() -> None:
        stream = ReplayModelClient(recorded).stream(talk.request("Oslo?"), CancelToken())
        async with aclosing(stream):  # type: ignore[type-var]
            async for event in stream:
                got.append(event)

    trio.run(listen)
    assert got == list(ANSWER)
