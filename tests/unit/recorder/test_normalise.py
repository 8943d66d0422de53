"""What a provider makes up anew becomes a function of the request; every other text stays."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackproof.recorder.normalise import EPOCH, RULES, WRITTEN, Ids, normalise, wire_of

DIGEST = "0123456789abcdef" * 4
SHORT = DIGEST[:12]

CHAT: dict[str, Any] = {
    "id": "chatcmpl-7QyqpwdfhqwajicIEznoc6Q47XAyW",
    "object": "chat.completion",
    "created": 1677664795,
    "model": "m",
    "choices": [
        {
            "message": {
                "content": 'created: 1677664795, id "chatcmpl-7QyqpwdfhqwajicIEznoc6Q47XAyW"',
                "tool_calls": [{"id": "call_abc", "function": {"arguments": '{"id":"call_abc"}'}}, {"id": "call_def"}],
            }
        }
    ],
    "usage": {"prompt_tokens": 7, "prompt_tokens_details": {"cached_tokens": 5}},
    "timings": {"prompt_ms": 12.5, "cache_n": 3, "nested": {"n": 1}, "label": "x", "none": None, "yes": True},
}
CHUNK: dict[str, Any] = {
    "id": "chatcmpl-x",
    "object": "chat.completion.chunk",
    "created": 9,
    "choices": [{"delta": {"tool_calls": [{"index": 0, "id": "call_abc"}]}}],
}
RESPONSE: dict[str, Any] = {
    "id": "resp_67ccd2bed1ec8190b14f964abc054267",
    "object": "response",
    "created_at": 1741476542.5,
    "completed_at": None,
    "output": [{"id": "fc_1", "call_id": "call_1"}, {"id": "msg_1", "content": [{"text": "call_1"}]}],
    "usage": {"input_tokens_details": {"cached_tokens": 4}},
}
EVENT: dict[str, Any] = {
    "type": "response.output_item.added",
    "sequence_number": 2,
    "item": {"id": "msg_1", "call_id": "call_1"},
}
MESSAGE: dict[str, Any] = {
    "id": "msg_013Zva2CMHLNnjNjJKqJ2EF",
    "type": "message",
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "toolu_01A", "input": {"id": "toolu_01A"}}, {"type": "text", "text": "t"}],
    "usage": {"cache_read_input_tokens": 6, "input_tokens": 2},
}
OLLAMA: dict[str, Any] = {
    "model": "m",
    "created_at": "2026-08-04T08:52:19.385406455-07:00",
    "message": {"content": "created_at"},
    "done": True,
    "total_duration": 4883583458,
    "load_duration": 1334875,
    "prompt_eval_duration": None,
    "eval_duration": 4.5,
    "eval_count": 26,
}


def _normal(value: Any, ordinal: int = 1, digest: str = DIGEST) -> Any:
    return normalise(copy.deepcopy(value), Ids(digest, ordinal))


def test_a_chat_completion() -> None:
    value = _normal(CHAT)
    assert value["id"] == f"rec-{SHORT}"
    assert value["created"] == 0
    message = value["choices"][0]["message"]
    assert [call["id"] for call in message["tool_calls"]] == [f"call_rec-{SHORT}-1-2", f"call_rec-{SHORT}-1-3"]
    assert message["content"] == CHAT["choices"][0]["message"]["content"]
    assert message["tool_calls"][0]["function"]["arguments"] == '{"id":"call_abc"}'
    assert value["usage"] == {"prompt_tokens": 7, "prompt_tokens_details": {"cached_tokens": 0}}
    timings = {"prompt_ms": 0, "cache_n": 0, "nested": {"n": 0}, "label": "x", "none": None, "yes": True}
    assert json.dumps(value["timings"]) == json.dumps(timings)


def test_chunks_of_one_stream_agree_on_their_ids() -> None:
    ids = Ids(DIGEST, 2)
    chunks = [normalise(copy.deepcopy(CHUNK), ids) for _ in range(3)]
    assert chunks[0] == chunks[1] == chunks[2]
    assert chunks[0]["choices"][0]["delta"]["tool_calls"][0]["id"] == f"call_rec-{SHORT}-2-2"


def test_a_response() -> None:
    value = _normal(RESPONSE)
    assert value["id"] == f"resp_rec-{SHORT}-1-1"
    assert (value["created_at"], value["completed_at"]) == (0, None)
    assert value["output"][0] == {"id": f"fc_rec-{SHORT}-1-2", "call_id": f"call_rec-{SHORT}-1-4"}
    assert value["output"][1]["content"] == [{"text": "call_1"}]
    assert value["usage"]["input_tokens_details"]["cached_tokens"] == 0


def test_events_of_a_response_speak_of_the_same_items() -> None:
    ids = Ids(DIGEST, 1)
    created = normalise({"type": "response.created", "response": copy.deepcopy(RESPONSE)}, ids)
    added = normalise(copy.deepcopy(EVENT), ids)
    delta = normalise({"type": "response.output_text.delta", "item_id": "msg_1", "delta": "msg_1"}, ids)
    assert created["response"]["created_at"] == 0
    assert added["item"]["id"] == created["response"]["output"][1]["id"] == delta["item_id"]
    assert added["item"]["call_id"] == created["response"]["output"][0]["call_id"]
    assert delta["delta"] == "msg_1"
    assert added["sequence_number"] == 2


def test_a_message_and_its_events() -> None:
    value = _normal(MESSAGE)
    assert value["id"] == f"msg_rec-{SHORT}-1-1"
    assert value["content"][0]["id"] == f"toolu_rec-{SHORT}-1-2"
    assert value["content"][0]["input"] == {"id": "toolu_01A"}
    assert value["usage"] == {"cache_read_input_tokens": 0, "input_tokens": 2}
    start = _normal({"type": "message_start", "message": copy.deepcopy(MESSAGE)})
    assert start["message"]["id"] == value["id"]
    assert start["message"]["usage"]["cache_read_input_tokens"] == 0
    block = _normal({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "toolu_x"}})
    assert block["content_block"]["id"].startswith("toolu_rec-")


def test_ollama() -> None:
    value = _normal(OLLAMA)
    assert value["created_at"] == EPOCH
    assert (value["total_duration"], value["load_duration"], value["eval_duration"]) == (0, 0, 0)
    assert value["prompt_eval_duration"] is None
    assert value["eval_count"] == 26
    assert value["message"] == {"content": "created_at"}


@pytest.mark.parametrize(
    "value",
    [
        {"object": "list", "data": [{"object": "model", "id": "gpt-4", "created": 1686935002}]},
        {"object": "model", "id": "gpt-4", "created": 1686935002},
        {"object": "list", "data": [{"object": "embedding", "embedding": [0.5, -0.0]}], "id": "embd-1", "created": 7},
        {"models": [{"name": "m", "modified_at": "2026-01-01T00:00:00Z"}]},
        {"object": "file", "id": "file-1", "created_at": 5},
        {"id": "x", "created": 5},
        {"error": {"message": "no", "type": "invalid_request_error"}, "created": 1},
        {"type": "error", "id": "x"},
        {"type": "message", "id": "x"},
        [CHAT],
        "chatcmpl-x",
        None,
        7,
    ],
)
def test_what_no_rule_speaks_of_is_untouched(value: Any) -> None:
    assert json.dumps(_normal(value)) == json.dumps(value)


@pytest.mark.parametrize("value", [CHAT, CHUNK, RESPONSE, EVENT, MESSAGE, OLLAMA])
def test_normalising_twice_changes_nothing(value: Any) -> None:
    once = _normal(value)
    assert _normal(once) == once
    # Once written an id is data: another request's digest does not change it either.
    assert _normal(once, ordinal=9, digest="f" * 64) == once


@pytest.mark.parametrize("value", [CHAT, CHUNK, RESPONSE, EVENT, MESSAGE])
def test_an_equal_answer_with_other_ids_is_written_the_same(value: Any) -> None:
    other = json.loads(json.dumps(value).replace("_1", "_9").replace("abc", "xyz").replace("cmpl-7", "cmpl-8"))
    shapes = [json.dumps(_normal(each)) for each in (value, other)]
    assert WRITTEN.findall(shapes[0]) == WRITTEN.findall(shapes[1]) != []


@given(st.lists(st.sampled_from(["call_a", "call_b", "x", "msg_1", "", "7"]), min_size=1))
def test_equal_ids_are_written_equally_and_different_ones_differently(real: list[str]) -> None:
    ids = Ids(DIGEST, 1)
    written = [ids.other(each) for each in real]
    assert len(set(written)) == len(set(real))
    assert all(
        (a == b) == (x == y) for a, x in zip(written, real, strict=True) for b, y in zip(written, real, strict=True)
    )


@pytest.mark.parametrize(
    ("real", "prefix"),
    [
        ("call_0a1b", "call_"),
        ("chatcmpl-tool-7f", "chatcmpl-"),
        ("toolu_01A09q90qw90lq917835lq9", "toolu_"),
        ("aB3dE9xYz", ""),
        ("abcdefab-0000-4000-8000-0123456789ab", ""),
        ("call_", ""),
        ("0", ""),
    ],
)
def test_an_id_keeps_its_own_prefix(real: str, prefix: str) -> None:
    written = Ids(DIGEST, 3).other(real)
    assert written == f"{prefix}rec-{SHORT}-3-1"
    assert WRITTEN.fullmatch(written)


@pytest.mark.parametrize("odd", [None, "", 7, {"a": 1}, True])
def test_an_id_that_is_no_text_stays(odd: Any) -> None:
    ids = Ids(DIGEST, 1)
    assert ids.other(odd) == odd
    assert ids.completion(odd) == odd
    assert ids.written == {}


def test_an_answer_that_speaks_of_an_earlier_one_uses_its_written_id() -> None:
    real = RESPONSE["id"]
    known = {real: "resp_rec-ffffffffffff-1-1"}
    again = normalise({**copy.deepcopy(RESPONSE), "previous_response_id": real}, Ids(DIGEST, 1, known))
    assert again["id"] == again["previous_response_id"] == known[real]
    assert again["output"][0]["id"] == f"fc_rec-{SHORT}-1-1"


def test_an_echo_of_something_unknown_is_left_alone() -> None:
    value = {**copy.deepcopy(RESPONSE), "previous_response_id": "resp_from_elsewhere"}
    assert _normal(value)["previous_response_id"] == "resp_from_elsewhere"


def test_a_provider_that_counts_from_zero_means_another_call_each_time() -> None:
    ids = Ids(DIGEST, 1, {"call_0": "call_rec-ffffffffffff-1-1"})
    assert ids.other("call_0") == f"call_rec-{SHORT}-1-1"


def test_rule_names_are_unique_and_every_rule_has_a_place() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert all(rule.paths and rule.wires for rule in RULES)


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=3),
        lambda inner: (
            st.dictionaries(
                st.sampled_from(
                    ["id", "object", "type", "choices", "output", "item", "message", "usage", "done", "model"]
                ),
                inner | st.sampled_from(["response", "chat.completion", "message_start", "response.created"]),
            )
            | st.lists(inner)
        ),
    )
)
def test_no_shape_breaks_it(value: Any) -> None:
    wire_of(value)
    once = _normal(value)
    assert _normal(once) == once
