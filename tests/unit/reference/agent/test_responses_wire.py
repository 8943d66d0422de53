"""What a provider's events are to a turn, and which of them end it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reference_stack.agent.failures import (
    DamagedStreamError,
    IncompleteAnswerError,
    ModelError,
    ProviderEventError,
    UnfinishedStreamError,
)
from reference_stack.agent.model import Completed, Message, ModelEvent, TextDelta, ToolCall
from reference_stack.agent.responses_wire import Answer
from reference_stack.agent.sse import ServerEvent

MESSAGE = {"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": "Hello."}]}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": "{}"}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": []}
USAGE = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}


def whole(*output: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": "resp_1", "status": "completed", "output": list(output), "usage": USAGE, **more}


def done(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response.output_item.done", "item": item}


def completed(*output: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response.completed", "response": whole(*output)}


def read(*told: dict[str, Any] | str) -> list[ModelEvent]:
    answer = Answer()
    events: list[ModelEvent] = []
    for one in told:
        text = one if isinstance(one, str) else json.dumps(one)
        name = "message" if isinstance(one, str) else str(one.get("type"))
        events += answer.event(ServerEvent(name=name, data=text))
    return [*events, answer.end()]


def test_text_a_message_and_a_call() -> None:
    events = read(
        {"type": "response.created", "response": {}},
        {"type": "response.output_text.delta", "delta": "Hel"},
        {"type": "response.output_text.delta", "delta": "lo."},
        done(MESSAGE),
        done(CALL),
        {"type": "response.something.new"},
        completed(MESSAGE, CALL),
        "[DONE]",
    )
    assert events == [
        TextDelta(text="Hel"),
        TextDelta(text="lo."),
        Message(text="Hello.", items=(MESSAGE,)),
        ToolCall(call_id="call_1", name="f", arguments="{}", items=(CALL,)),
        Completed(response_id="resp_1", usage=USAGE),
    ]


def test_what_the_model_thought_goes_back_in_front_of_what_it_led_to() -> None:
    events = read(done(THOUGHT), done(CALL), done(MESSAGE), completed())
    assert isinstance(events[0], ToolCall)
    assert isinstance(events[1], Message)
    assert (events[0].items, events[1].items) == ((THOUGHT, CALL), (MESSAGE,))


def test_a_refusal_is_text() -> None:
    item = {"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}
    assert read(done(item), completed(item))[0] == Message(text="No.", items=(item,))


def test_completed_is_held_back_until_the_end() -> None:
    answer = Answer()
    event = ServerEvent(name="response.completed", data=json.dumps(completed()))
    assert list(answer.event(event)) == []
    assert answer.whole
    with pytest.raises(DamagedStreamError, match="went on after its end"):
        list(answer.event(ServerEvent(name="message", data=json.dumps(done(MESSAGE)))))


@pytest.mark.parametrize(
    ("told", "kind", "word"),
    [
        ({"type": "error", "message": "out of memory", "code": "oom"}, ProviderEventError, "out of memory"),
        ({"type": "error", "error": {"message": "too many"}}, ProviderEventError, "too many"),
        ({"type": "error"}, ProviderEventError, "does not say why"),
        (
            {"type": "response.failed", "response": {"error": {"code": "server_error", "message": "gone"}}},
            ProviderEventError,
            "gone",
        ),
        ({"type": "response.failed", "response": {}}, ProviderEventError, "does not say why"),
        (
            {"type": "response.incomplete", "response": {"incomplete_details": {"reason": "max_output_tokens"}}},
            IncompleteAnswerError,
            "max_output_tokens",
        ),
        ({"type": "response.incomplete", "response": {}}, IncompleteAnswerError, "does not say why"),
        ("{", DamagedStreamError, "not JSON"),
        ('{"type": "x", "n": NaN}', DamagedStreamError, "NaN"),
        ("[" * 100_000, DamagedStreamError, "not JSON"),
        ("7", DamagedStreamError, "no JSON object"),
        ("{}", DamagedStreamError, "no text 'type'"),
        ({"type": "response.output_text.delta"}, DamagedStreamError, "'delta'"),
        ({"type": "response.output_text.delta", "delta": 7}, DamagedStreamError, "'delta'"),
        ({"type": "response.output_item.done"}, DamagedStreamError, "no object 'item'"),
        (done({"type": "message"}), DamagedStreamError, "'content'"),
        (done({"type": "message", "content": ["x"]}), DamagedStreamError, "no JSON object"),
        (done({**CALL, "call_id": ""}), DamagedStreamError, "'call_id'"),
        (done({**CALL, "arguments": None}), DamagedStreamError, "'arguments'"),
        ({"type": "response.completed"}, DamagedStreamError, "no object 'response'"),
        ({"type": "response.completed", "response": {}}, DamagedStreamError, "'id'"),
        ({"type": "response.completed", "response": whole(usage=7)}, DamagedStreamError, "'usage'"),
    ],
)
def test_what_is_no_answer_is_an_error_by_name(told: dict[str, Any] | str, kind: type[ModelError], word: str) -> None:
    with pytest.raises(kind, match=word):
        read(told)


@pytest.mark.parametrize("sent", [(), (CALL,), (MESSAGE, MESSAGE, CALL), ({**MESSAGE, "content": []}, CALL)])
def test_an_item_that_was_lost_or_doubled_on_the_way_shows_at_the_end(sent: tuple[dict[str, Any], ...]) -> None:
    with pytest.raises(DamagedStreamError, match="other items"):
        read(*map(done, sent), completed(MESSAGE, CALL))


def test_an_event_under_another_name_than_its_own_is_damaged() -> None:
    with pytest.raises(DamagedStreamError, match=r"is named 'response\.created'"):
        list(Answer().event(ServerEvent(name="response.created", data=json.dumps(completed()))))


def test_without_a_last_event_nothing_is_completed() -> None:
    with pytest.raises(UnfinishedStreamError):
        read(done(MESSAGE), "[DONE]")


def test_an_answer_in_one_piece_is_the_same_events() -> None:
    assert list(Answer().response(whole(MESSAGE, THOUGHT, CALL))) == [
        TextDelta(text="Hello."),
        Message(text="Hello.", items=(MESSAGE,)),
        ToolCall(call_id="call_1", name="f", arguments="{}", items=(THOUGHT, CALL)),
        Completed(response_id="resp_1", usage=USAGE),
    ]


@pytest.mark.parametrize(
    ("response", "kind"),
    [
        (whole(status="failed", error={"message": "gone"}), ProviderEventError),
        (whole(MESSAGE, status="incomplete"), IncompleteAnswerError),
        (whole(MESSAGE, status="in_progress"), UnfinishedStreamError),
        ({"id": "x", "output": []}, UnfinishedStreamError),
        ({"id": "x", "status": "completed"}, DamagedStreamError),
        (whole(status="completed", output=["x"]), DamagedStreamError),
        ({"status": "completed", "output": []}, DamagedStreamError),
    ],
)
def test_an_answer_in_one_piece_that_is_not_whole_is_an_error(response: dict[str, Any], kind: type[ModelError]) -> None:
    seen: list[ModelEvent] = []
    with pytest.raises(kind):
        collect(seen, response)
    assert not any(isinstance(event, Completed) for event in seen)


def collect(seen: list[ModelEvent], response: dict[str, Any]) -> None:
    for event in Answer().response(response):
        seen.append(event)  # noqa: PERF402 - it may raise in between


def test_the_text_of_an_incomplete_answer_is_seen_and_no_message() -> None:
    seen: list[ModelEvent] = []
    with pytest.raises(IncompleteAnswerError):
        collect(seen, whole(MESSAGE, CALL, status="incomplete"))
    assert seen == [TextDelta(text="Hello.")]
