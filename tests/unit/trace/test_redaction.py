"""No secret reaches the file, the caller gets it all the same, and the request still fits its trace."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.trace.conftest import ANSWER, Scripted, Talk

from stackproof.trace import (
    Completed,
    Message,
    ModelEvent,
    RecordingModelClient,
    ReplayModelClient,
    TextDelta,
    ToolCall,
    TraceMismatchError,
)

SECRET = "correct-horse-battery"
SECRETS = {"WEATHER_TOKEN": SECRET, "EMPTY_ONE": "", "SHORT": "abc"}
KEY = "sk-abcdefghij0123456789klmn"


@pytest.mark.parametrize("spelt", [SECRET, KEY, base64.b64encode(SECRET.encode()).decode(), f"x {KEY} y {SECRET} z"])
def test_nothing_of_a_secret_is_on_disk_and_the_caller_gets_it(
    path: Path, talk: Talk, text_of: Callable[[Path], str], spelt: str
) -> None:
    answer: tuple[ModelEvent, ...] = (
        Message(text=f"Your key is {spelt}.", items=({"type": "reasoning", "summary": [spelt]},)),
        ToolCall(call_id="c", name="t", arguments=f'{{"key":"{spelt}"}}'),
        Completed(response_id="r", usage={"note": spelt}),
    )
    client = RecordingModelClient(Scripted(answers=(answer,)), path, secrets=SECRETS)
    assert talk.say(client, f"Remember {spelt}", instructions=spelt, model=spelt) == list(answer)
    text = text_of(path)
    assert spelt not in text
    assert SECRET not in text
    assert KEY not in text
    with ReplayModelClient(path, secrets=SECRETS) as replay:
        got = talk.say(replay, f"Remember {spelt}", instructions=spelt, model=spelt)
    assert [event.type for event in got] == ["message", "tool_call", "completed"]


def test_a_key_is_hidden_that_lies_in_several_pieces_of_text(
    path: Path, talk: Talk, text_of: Callable[[Path], str]
) -> None:
    for cut in range(1, len(KEY) + 6):
        whole = f"Use {KEY} well."
        pieces = [TextDelta(text=whole[at : at + cut]) for at in range(0, len(whole), cut)]
        path.unlink(missing_ok=True)
        answer: tuple[ModelEvent, ...] = (*pieces[:1], ANSWER[2], *pieces[1:], Completed())
        talk.say(RecordingModelClient(Scripted(answers=(answer,)), path), "x")
        got = talk.say(ReplayModelClient(path), "x")
        assert "".join(event.text for event in got if isinstance(event, TextDelta)) == "Use *** well."
        assert [event.type for event in got if event.type != "text_delta"] == ["tool_call", "completed"]
        text = text_of(path)
        assert not any(KEY[at : at + 6] in text for at in range(4, len(KEY) - 6))


def test_text_beside_the_secret_keeps_its_pieces(path: Path, talk: Talk) -> None:
    texts = ["One ", "two sk-abcdefghij", "0123456789klmnop", " three", " four"]
    answer: tuple[ModelEvent, ...] = (*(TextDelta(text=text) for text in texts), Completed())
    talk.say(RecordingModelClient(Scripted(answers=(answer,)), path), "x")
    got = talk.say(ReplayModelClient(path), "x")
    assert [event.text for event in got if isinstance(event, TextDelta)] == ["One ", "two ***", " three", " four"]


def test_fields_of_secret_names_are_masked_in_what_a_tool_is_called_with(path: Path, talk: Talk) -> None:
    raw = '{"password": "hunter2", "city": "Oslo"}'
    answer = (ToolCall(call_id="c", name="t", arguments=raw), Completed())
    talk.say(RecordingModelClient(Scripted(answers=(answer,)), path), "x")
    (call, _) = talk.say(ReplayModelClient(path), "x")
    assert call == ToolCall(call_id="c", name="t", arguments='{"password":"***","city":"Oslo"}')


def test_a_conversation_fits_its_trace_although_the_replayed_call_says_less(path: Path, talk: Talk) -> None:
    def ask(client: RecordingModelClient | ReplayModelClient) -> list[ModelEvent]:
        (call, *_) = talk.say(client, "Log me in.")
        assert isinstance(call, ToolCall)
        item = {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments}
        return talk.say(client, "Log me in.", "Done.", tools=(item,))

    answer = (ToolCall(call_id="c", name="t", arguments=f'{{"password": "hunter2", "note": "{SECRET}"}}'), Completed())
    ask(RecordingModelClient(Scripted(answers=(answer, ANSWER)), path, secrets=SECRETS))
    with ReplayModelClient(path) as replay:  # nobody has the secret here
        assert ask(replay) == list(ANSWER)


def test_a_request_with_another_key_of_that_shape_is_the_same_request(path: Path, talk: Talk) -> None:
    talk.say(RecordingModelClient(Scripted(), path), f"My key is {KEY}")
    assert talk.say(ReplayModelClient(path), f"My key is {KEY[:-1]}Z") == list(ANSWER)


def test_a_mismatch_does_not_show_the_secret_that_was_sent(path: Path, talk: Talk) -> None:
    talk.say(RecordingModelClient(Scripted(), path), "nothing")
    with pytest.raises(TraceMismatchError) as caught:
        talk.say(ReplayModelClient(path, secrets=SECRETS), f"it is {SECRET} and {KEY}")
    assert SECRET not in str(caught.value)
    assert KEY not in str(caught.value)
    assert "it is *** and ***" in str(caught.value)


def test_the_error_of_a_partial_trace_says_no_secret(path: Path, talk: Talk, text_of: Callable[[Path], str]) -> None:
    failure = PermissionError(f"key {KEY} was refused, {SECRET} too")
    client = RecordingModelClient(Scripted(answers=((failure,),)), path, secrets=SECRETS, partial=True)
    with pytest.raises(PermissionError, match=KEY):
        talk.say(client, "x")
    assert "PermissionError: key *** was refused, *** too" in text_of(path)


def test_short_and_empty_values_hide_nothing(path: Path, talk: Talk) -> None:
    talk.say(RecordingModelClient(Scripted(), path, secrets={"A": "", "B": "It", "C": "changeme"}), "changeme It")
    assert talk.say(ReplayModelClient(path), "changeme It") == list(ANSWER)
