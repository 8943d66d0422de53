"""What differs between two streams: kinds of events, their order, and what each kind looks like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.unit.drift.conftest import Makers

WIRES = ["chat_stream", "message_stream", "response_stream", "ollama_stream"]


def events(content: Any) -> list[Any]:
    """The events of a recording."""
    found: list[Any] = content["response"]["events"]
    return found


def kinds(content: Any) -> list[str]:
    """What its events name themselves."""
    return [str(each.get("event", "")) for each in events(content)]


@pytest.mark.parametrize("wire", WIRES)
def test_more_or_fewer_deltas_are_no_drift(make: type[Makers], wire: str) -> None:
    recorded = getattr(make, wire)()
    for words in (["Paris"], list("Paris, the city of light")):
        if wire == "message_stream":
            deltas = [{"type": "text_delta", "text": word} for word in words]
            assert make.compare(recorded, make.message_stream(("text", {"text": ""}, deltas))) == []
        else:
            assert make.compare(recorded, getattr(make, wire)(*words)) == []


@pytest.mark.parametrize("wire", WIRES)
def test_the_end_that_does_not_come_is_breaking(make: type[Makers], wire: str) -> None:
    recorded, observed = getattr(make, wire)(), getattr(make, wire)()
    ended = events(observed).pop()
    kind = ended.get("event") or ended.get("text") or "done: true"
    assert ("breaking", "gone-event", kind) in make.told(make.compare(recorded, observed))


def test_a_choice_that_no_chunk_closes_is_breaking(make: type[Makers]) -> None:
    recorded, observed = make.chat_stream(), make.chat_stream()
    for each in events(observed):
        for choice in each.get("data", {}).get("choices", []):
            choice["finish_reason"] = None
    assert ("breaking", "gone-event", "finish reason") in make.told(make.compare(recorded, observed))
    # Where a recording did without, nobody owes it.
    assert make.compare(observed, observed) == []
    assert ("breaking", "gone-event", "finish reason") not in make.told(make.compare(observed, recorded))


@pytest.mark.parametrize("wire", WIRES)
def test_of_a_stream_that_was_left_early_nothing_is_missed(make: type[Makers], wire: str) -> None:
    recorded, observed = getattr(make, wire)(), getattr(make, wire)()
    del events(observed)[2:]
    observed["response"]["complete"] = False
    assert make.compare(recorded, observed) == []
    assert all(each[0] == "note" for each in make.told(make.compare(observed, recorded)))


@pytest.mark.parametrize("wire", WIRES)
def test_a_new_event_is_additive(make: type[Makers], wire: str) -> None:
    recorded, observed = getattr(make, wire)(), getattr(make, wire)()
    events(observed).insert(1, {"event": "billing.started", "data": {"type": "billing.started", "cents": 1}})
    assert make.told(make.compare(recorded, observed)) == [("additive", "new-event", "billing.started")]


def test_pings_and_comments_are_no_events(make: type[Makers]) -> None:
    observed = make.message_stream()
    events(observed)[1:1] = [{"event": "ping", "data": {"type": "ping"}}, {"raw": ": keep-alive\n\n"}]
    assert make.compare(make.message_stream(), observed) == []
    assert make.compare(observed, make.message_stream()) == []


@pytest.mark.parametrize(
    ("wire", "one", "other", "where"),
    [
        ("message_stream", -2, -1, "message_delta before message_stop"),
        ("message_stream", 1, 2, "content_block_start before content_block_delta"),
        ("response_stream", 2, 3, "response.content_part.added before response.output_text.delta"),
        ("response_stream", 0, -1, "response.created before response.completed"),
        ("ollama_stream", -2, -1, "done: false before done: true"),
        ("chat_stream", -3, -2, "finish reason before usage"),
        ("chat_stream", -2, -1, "chat.completion.chunk before [DONE]"),
    ],
)
def test_events_that_changed_places_are_breaking(
    make: type[Makers], wire: str, one: int, other: int, where: str
) -> None:
    recorded, observed = getattr(make, wire)(), getattr(make, wire)()
    found = events(observed)
    found[one], found[other] = found[other], found[one]
    order = [each for each in make.compare(recorded, observed) if each.kind == "event-order"]
    assert len(order) == 1
    assert str(order[0].severity) == "breaking"
    assert " → " in (order[0].recorded or "")
    if wire != "response_stream" or one != 0:  # what moved past everything is told by its nearest neighbour
        assert order[0].where == where


def test_a_tool_call_among_the_blocks_is_a_note_and_blocks_may_be_more(make: type[Makers]) -> None:
    text = ("text", {"text": ""}, [{"type": "text_delta", "text": "x"}])
    recorded = make.message_stream(text)
    assert make.compare(recorded, make.message_stream(text, text, text)) == []
    found = make.told(make.compare(recorded, make.message_stream(text, make.tool)))
    assert found == [
        ("note", "value", "content_block_delta: delta.type"),
        ("note", "value", "content_block_start: content_block.type"),
    ]
    assert make.compare(make.message_stream(text, make.tool), make.message_stream(make.tool)) == []


def test_an_event_that_one_of_several_items_lacks_is_gone(make: type[Makers]) -> None:
    text = ("text", {"text": ""}, [{"type": "text_delta", "text": "x"}])
    observed = make.message_stream(text, text)
    at = max(i for i, kind in enumerate(kinds(observed)) if kind == "content_block_stop")
    del events(observed)[at]
    found = make.compare(make.message_stream(text), observed)
    assert make.told(found) == [("breaking", "gone-event", "content_block_stop")]
    assert found[0].observed == "absent in some items"


def test_a_field_gone_from_all_events_of_a_kind_is_breaking_and_from_some_deltas_not(make: type[Makers]) -> None:
    recorded, observed = make.chat_stream(), make.chat_stream()
    for event in events(observed)[:-1]:
        event["data"].pop("usage", None)
    assert make.told(make.compare(recorded, observed)) == [("breaking", "gone-field", "chat.completion.chunk: usage")]
    assert (
        make.compare(
            recorded,
            make.streamed(
                *(e.get("data", "[DONE]") for e in events(recorded)[:1]),
                *(e.get("data", e.get("text")) for e in events(recorded)[2:]),
            ),
        )
        == []
    )


def test_the_name_on_the_event_line_belongs_to_the_event(make: type[Makers]) -> None:
    observed = make.message_stream()
    for event in events(observed):
        event.pop("event")
    found = make.told(make.compare(make.message_stream(), observed))
    assert ("breaking", "gone-field", "message_stop: event:") in found


def test_an_answer_that_was_cut_at_its_limit_ends_as_well(make: type[Makers]) -> None:
    observed = make.response_stream()
    events(observed)[-1] = {
        "event": "response.incomplete",
        "data": {**events(observed)[-1]["data"], "type": "response.incomplete"},
    }
    assert make.told(make.compare(make.response_stream(), observed)) == [("note", "new-event", "response.incomplete")]
    events(observed)[-1]["data"]["type"] = "response.failed"
    assert ("breaking", "gone-event", "response.completed") in make.told(make.compare(make.response_stream(), observed))


def test_items_whose_events_have_no_number_are_told_apart_by_their_id(make: type[Makers]) -> None:
    def without(content: Any) -> Any:
        for event in events(content):
            event["data"].pop("output_index", None)
            if "item" in event["data"]:
                event["data"]["item"]["id"] = "msg_1"
        return content

    recorded, observed = without(make.response_stream()), without(make.response_stream())
    found = events(observed)
    found[2], found[3] = found[3], found[2]
    assert ("breaking", "event-order", "response.content_part.added before response.output_text.delta") in make.told(
        make.compare(recorded, observed)
    )


def test_what_one_of_several_recordings_does_otherwise_is_owed_by_nobody(make: type[Makers]) -> None:
    def with_bill(at: int) -> Any:
        content = make.message_stream()
        events(content).insert(at, {"event": "bill", "data": {"type": "bill", "cents": 1}})
        return content

    early, late, without = with_bill(1), with_bill(len(events(make.message_stream())) - 1), make.message_stream()
    for observed in (early, late):
        assert make.compare([early, late], observed) == []
    assert make.compare([early, without], without) == []
    assert ("breaking", "event-order", "bill before message_delta") in make.told(make.compare(early, late))
    assert ("breaking", "gone-event", "bill") in make.told(make.compare([early, late], without))


def test_an_order_is_that_of_each_item_however_many_there_are(make: type[Makers]) -> None:
    text = ("text", {"text": ""}, [{"type": "text_delta", "text": "x"}])
    recorded, observed = make.message_stream(text, text), make.message_stream(text, text)
    found = events(observed)
    at = max(i for i, kind in enumerate(kinds(observed)) if kind == "content_block_stop")
    found[at - 1], found[at] = found[at], found[at - 1]
    assert make.told(make.compare(recorded, observed)) == [
        ("breaking", "event-order", "content_block_delta before content_block_stop")
    ]
