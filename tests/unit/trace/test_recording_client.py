"""What the recording client passes on, what it writes, and what is on disk after a stream that did not end well."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.trace.conftest import ANSWER, Scripted, Talk

from stackproof.trace import (
    CancelToken,
    Completed,
    Message,
    ModelEvent,
    RecordingModelClient,
    TextDelta,
    TraceCancelledError,
    UnfitValueError,
    UnknownEventError,
    Why,
    read,
)

Text = Callable[[Path], str]


def test_events_pass_unchanged_and_one_line_is_written_behind_a_header(path: Path, talk: Talk, text_of: Text) -> None:
    inner = Scripted()
    client = RecordingModelClient(inner, path)
    assert talk.say(client, "Oslo?", options={"temperature": 0}) == list(ANSWER)
    assert inner.asked[0].options == {"temperature": 0}
    header, line, rest = text_of(path).split("\n")
    assert (json.loads(header), rest) == ({"format": "stackproof-trace", "version": 1}, "")
    assert json.loads(line) == {
        "fingerprint": "351b2ecf0aaef6200e822a868fac84e37c6e26ea0847095394aeb93873c92da1",
        "model": "small",
        "request": {
            "instructions": "Be brief.",
            "history": [{"role": "user", "content": "Oslo?"}],
            "tools": [],
            "step_sequence": 0,
            "tool_generation": 0,
        },
        "events": [
            {"type": "text_delta", "text": "It "},
            {"type": "text_delta", "text": "rains."},
            {"type": "tool_call", "call_id": "call_1", "name": "weather", "arguments": '{"city":"Oslo"}'},
            {"type": "completed", "response_id": "resp_1", "usage": {"output_tokens": 3}},
        ],
    }
    assert (client.written, client.left_out) == (1, [])


def test_nothing_is_on_disk_while_the_stream_goes_on(path: Path, talk: Talk) -> None:
    seen: list[bool] = []

    class Watching(list[ModelEvent]):
        def append(self, event: ModelEvent) -> None:
            seen.append(path.exists())
            super().append(event)

    talk.say(RecordingModelClient(Scripted(), path), "Oslo?", into=Watching())
    assert seen == [False] * len(ANSWER)
    assert path.exists()


def test_a_second_recording_appends_and_leaves_the_first_bytes_alone(path: Path, talk: Talk) -> None:
    talk.say(RecordingModelClient(Scripted(), path), "Oslo?")
    before = path.read_bytes()
    talk.say(RecordingModelClient(Scripted(), path), "Bergen?")
    after = path.read_bytes()
    assert after.startswith(before)
    assert [line.number for line in read(path).lines] == [2, 3]


BROKEN = (TextDelta(text="It "), ConnectionResetError("peer went away"))
ENDINGS: dict[str, Any] = {
    "broken": ({"answers": (BROKEN,)}, {}, ConnectionResetError, Why.BROKEN, "ConnectionResetError: peer went away", 1),
    "cancelled": ({}, {"cancel_after": 2}, TraceCancelledError, Why.CANCELLED, "TraceCancelledError: the", 2),
    "left": ({}, {"leave_after": 1}, None, Why.LEFT, "", 1),
    "unfinished": ({"answers": ((TextDelta(text="It "),),)}, {}, None, Why.UNFINISHED, "", 1),
    "empty": ({"answers": ((),)}, {}, None, Why.UNFINISHED, "", 0),
    "goes on after completed": (
        {"answers": ((Completed(), Message(text="more")),)}, {}, None, Why.UNFINISHED, "", 2,
    ),
    "broken after completed": ({"answers": ((Completed(), OSError("late")),)}, {}, OSError, Why.BROKEN, "OSError", 1),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDINGS)
def test_a_stream_that_did_not_end_well_leaves_no_file(path: Path, talk: Talk, name: str) -> None:
    script, how, raised, why, _, count = ENDINGS[name]
    got, client, inner = list[ModelEvent](), None, Scripted(**script)
    client = RecordingModelClient(inner, path)
    _say(talk, client, got, how, raised)
    assert len(got) == count
    assert (client.written, client.left_out) == (0, [why])
    assert not path.exists()
    assert inner.closed == 1


@pytest.mark.parametrize("name", ENDINGS)
def test_it_is_written_as_partial_with_what_arrived_and_why_when_asked_for(path: Path, talk: Talk, name: str) -> None:
    script, how, raised, why, error, count = ENDINGS[name]
    got = list[ModelEvent]()
    client = RecordingModelClient(Scripted(**script), path, partial=True)
    _say(talk, client, got, how, raised)
    (line,) = read(path).lines
    exchange = line.exchange
    assert exchange is not None
    assert (exchange.why, list(exchange.events), len(got)) == (why, got, count)
    assert exchange.error.startswith(error)
    assert client.written == 1


def _say(
    talk: Talk, client: RecordingModelClient, got: list[ModelEvent], how: dict[str, Any], raised: type[Exception] | None
) -> None:
    if raised is None:
        talk.say(client, "Oslo?", into=got, **how)
        return
    with pytest.raises(raised):
        talk.say(client, "Oslo?", into=got, **how)


def test_a_caller_that_leaves_at_completed_has_had_the_whole_answer(path: Path, talk: Talk) -> None:
    client = RecordingModelClient(Scripted(), path)
    assert talk.say(client, "Oslo?", leave_after=len(ANSWER)) == list(ANSWER)
    (line,) = read(path).lines
    assert line.exchange is not None
    assert (line.exchange.why, line.exchange.events) == (None, ANSWER)


def test_once_a_stream_is_closed_the_inner_one_is_and_the_partial_trace_is_written(path: Path, talk: Talk) -> None:
    inner = Scripted()

    async def leave() -> tuple[int, int]:
        stream: Any = RecordingModelClient(inner, path, partial=True).stream(talk.request("Oslo?"), CancelToken())
        await anext(stream)
        await stream.aclose()
        return inner.closed, len(read(path).lines)

    assert asyncio.run(leave()) == (1, 1)


def test_cancelled_before_it_began_asks_and_writes_nothing(path: Path, talk: Talk) -> None:
    inner = Scripted()
    with pytest.raises(TraceCancelledError, match="enough"):
        talk.say(RecordingModelClient(inner, path, partial=True), "Oslo?", cancel_after=0)
    assert inner.asked == []
    assert not path.exists()


def test_a_task_that_is_cancelled_while_it_waits_for_the_model_is_a_partial_trace(path: Path, talk: Talk) -> None:
    class Silent(Scripted):
        async def stream(self, request: Any, cancel: Any) -> Any:
            yield ANSWER[0]
            waits.set()
            await asyncio.sleep(600)

    waits = asyncio.Event()
    client = RecordingModelClient(Silent(), path, partial=True)

    async def listen() -> None:
        async for _ in client.stream(talk.request("Oslo?"), CancelToken()):
            pass

    async def run() -> None:
        task = asyncio.create_task(listen())
        await asyncio.wait_for(waits.wait(), 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    (line,) = read(path).lines
    assert line.exchange is not None
    assert (line.exchange.why, line.exchange.events) == (Why.CANCELLED, ANSWER[:1])


def test_what_is_no_event_is_refused_before_it_is_passed_on(path: Path, talk: Talk) -> None:
    got = list[ModelEvent]()
    foreign: Any = object()
    with pytest.raises(UnknownEventError, match="an object of type object, which is no event"):
        talk.say(RecordingModelClient(Scripted(answers=((ANSWER[0], foreign),)), path), "Oslo?", into=got)
    assert got == [ANSWER[0]]
    assert not path.exists()


def test_an_event_with_a_value_of_another_kind_is_refused(path: Path, talk: Talk) -> None:
    wrong: Any = 3
    with pytest.raises(UnknownEventError, match="text_delta whose text is a int"):
        talk.say(RecordingModelClient(Scripted(answers=((TextDelta(text=wrong),),)), path), "Oslo?")


@pytest.mark.parametrize(
    ("item", "place"),
    [
        ({"at": object()}, r"history\[0\]\.at is a object"),
        ({"at": float("nan")}, r"history\[0\]\.at is nan"),
        ({3: "x"}, r"history\[0\] has the key 3"),
        ({"at": 10**5000}, r"history\[0\]\.at is a number too long"),
    ],
)
def test_a_request_that_json_cannot_say_is_refused_before_the_model_is_asked(
    path: Path, talk: Talk, item: Any, place: str
) -> None:
    inner = Scripted()

    async def listen() -> None:
        request = talk.request()
        object.__setattr__(request, "history", (item,))
        async for _ in RecordingModelClient(inner, path).stream(request, CancelToken()):
            pass

    with pytest.raises(UnfitValueError, match=place):
        asyncio.run(listen())
    assert inner.asked == []
    assert not path.exists()


def test_an_item_that_holds_itself_is_refused(path: Path, talk: Talk) -> None:
    item: dict[str, Any] = {}
    item["self"] = item
    with pytest.raises(UnfitValueError, match="levels deep"):
        talk.say(RecordingModelClient(Scripted(), path), "x", tools=(item,))


def test_what_the_caller_changes_afterwards_changes_no_trace(path: Path, talk: Talk) -> None:
    tool = {"name": "weather"}

    class Changing(Scripted):
        async def stream(self, request: Any, cancel: Any) -> Any:
            tool["name"] = "changed"
            for event in ANSWER:
                yield event

    talk.say(RecordingModelClient(Changing(), path), "Oslo?", tools=(tool,))
    (line,) = read(path).lines
    assert line.exchange is not None
    assert line.exchange.request is not None
    assert line.exchange.request["tools"] == [{"name": "weather"}]


def test_it_works_in_a_loop_that_is_not_asyncio(path: Path, talk: Talk) -> None:
    import trio

    class Plain(Scripted):
        async def stream(self, request: Any, cancel: Any) -> Any:
            for event in ANSWER:
                await trio.lowlevel.checkpoint()
                yield event

    got = list[ModelEvent]()

    async def listen() -> None:
        async for event in RecordingModelClient(Plain(), path).stream(talk.request("Oslo?"), CancelToken()):
            got.append(event)

    trio.run(listen)
    assert got == list(ANSWER)
    assert len(read(path).lines) == 1
