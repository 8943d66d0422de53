"""What differs between the shapes of two answers, and how bad it is; what varies by nature is no difference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.unit.drift.conftest import Makers


def test_another_text_other_ids_and_other_counts_are_no_drift(make: type[Makers]) -> None:
    recorded = make.whole(make.chat())
    body = make.chat({"role": "assistant", "content": "It is the city of Paris, of course.", "refusal": None})
    body |= {"id": "chatcmpl-other", "created": 1780000000}
    body["usage"] = {"prompt_tokens": 99, "completion_tokens": 9.5, "total_tokens": 108}
    assert make.compare(recorded, make.whole(body)) == []


def test_a_field_that_is_gone_is_breaking_and_a_new_one_additive(make: type[Makers]) -> None:
    body = make.chat()
    del body["usage"]["total_tokens"]
    body["usage"]["sum"] = 5
    found = make.compare(make.whole(make.chat()), make.whole(body))
    assert make.told(found) == [
        ("additive", "new-field", "usage.sum"),
        ("breaking", "gone-field", "usage.total_tokens"),
    ]
    assert [(each.recorded, each.observed) for each in found] == [(None, "5"), ("5", None)]


def test_of_a_new_object_only_the_object_is_told(make: type[Makers]) -> None:
    body = make.chat() | {"billing": {"plan": {"name": "x"}, "seats": [1]}}
    assert make.told(make.compare(make.whole(make.chat()), make.whole(body))) == [("additive", "new-field", "billing")]


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("model", 7, ("breaking", "changed-type", "model")),
        ("usage", None, ("breaking", "changed-type", "usage")),
        ("usage", [], ("breaking", "changed-type", "usage")),
        ("choices", {}, ("breaking", "changed-type", "choices")),
    ],
)
def test_another_type_is_breaking(make: type[Makers], key: str, value: Any, told: tuple[str, str, str]) -> None:
    found = make.compare(make.whole(make.chat()), make.whole(make.chat() | {key: value}))
    assert told in make.told(found)


def test_a_value_where_only_null_was_is_additive(make: type[Makers]) -> None:
    recorded = make.whole(make.chat() | {"quota": None})
    assert make.told(make.compare(recorded, make.whole(make.chat() | {"quota": 3}))) == [
        ("additive", "changed-type", "quota")
    ]


@pytest.mark.parametrize("key", ["logprobs", "service_tier", "system_fingerprint"])
@pytest.mark.parametrize("sides", [(None, "x"), ("x", None)])
def test_null_or_not_is_no_drift_where_it_varies_by_nature(make: type[Makers], key: str, sides: Any) -> None:
    one, other = (make.whole(make.chat() | {key: side}) for side in sides)
    assert make.compare(one, other) == []


def test_a_tool_call_in_place_of_a_text_is_a_note_and_its_arguments_are_nothing(make: type[Makers]) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Paris"}'}}
    message = {"role": "assistant", "content": None, "refusal": None, "tool_calls": [call]}
    called = make.whole(make.chat(message, finish="tool_calls"))
    assert make.told(make.compare(make.whole(make.chat()), called)) == [
        ("note", "new-field", "choices[].message.tool_calls"),
        ("note", "value", "choices[].finish_reason"),
    ]
    other = make.deep(message)
    other["tool_calls"][0]["function"]["arguments"] = "{}"
    assert make.compare(called, make.whole(make.chat(other, finish="tool_calls"))) == []


def test_a_text_that_nothing_took_the_place_of_is_breaking(make: type[Makers]) -> None:
    found = make.compare(make.whole(make.chat()), make.whole(make.chat({"role": "assistant", "refusal": None})))
    assert make.told(found) == [("breaking", "gone-field", "choices[].message.content")]


def test_objects_of_one_kind_are_compared_with_their_kind_only(make: type[Makers]) -> None:
    text, tool = {"type": "text", "text": "x"}, {"type": "tool_use", "id": "t", "name": "n", "input": {"a": 1}}
    message = {"type": "message", "role": "assistant", "content": [text, tool]}
    recorded = make.whole(message)
    assert make.compare(recorded, make.whole(message | {"content": [text]})) == []
    assert make.compare(recorded, make.whole(message | {"content": [tool | {"input": {"b": [2]}}]})) == []
    other = make.compare(recorded, make.whole(message | {"content": [text, {"type": "tool_use", "id": "t"}]}))
    assert make.told(other) == [
        ("breaking", "gone-field", "content[type=tool_use].input"),
        ("breaking", "gone-field", "content[type=tool_use].name"),
    ]


def test_a_kind_that_was_never_seen_is_a_note(make: type[Makers]) -> None:
    message = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "x"}]}
    other = message | {"content": [{"type": "thinking", "thinking": "hm", "signature": ""}]}
    assert make.told(make.compare(make.whole(message), make.whole(other))) == [("note", "value", "content[].type")]


def test_an_object_that_no_longer_names_its_type_is_breaking(make: type[Makers]) -> None:
    message = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "x"}]}
    other = message | {"content": [{"text": "x"}]}
    assert make.told(make.compare(make.whole(message), make.whole(other))) == [
        ("breaking", "gone-field", "content[].type")
    ]


def test_keys_that_are_made_up_are_no_fields(make: type[Makers]) -> None:
    one = {"object": "list", "files": {"file-8f3a2b1c9d": {"size": 1}, "2026-01-02": {"size": 2}}}
    other = {"object": "list", "files": {"file-000000aaaa": {"size": 3}}}
    assert make.compare(make.whole(one), make.whole(other)) == []
    renamed = {"object": "list", "files": {"file-000000aaaa": {"bytes": 3}}}
    assert make.told(make.compare(make.whole(one), make.whole(renamed))) == [
        ("additive", "new-field", "files{}.bytes"),
        ("breaking", "gone-field", "files{}.size"),
    ]


@pytest.mark.parametrize("name", ["a b", "<b>`x`", "a.b", "x]", "web_20250305", "", "type=x]"])
def test_a_field_of_any_name_is_found_and_hides_no_other(make: type[Makers], name: str) -> None:
    recorded = make.whole(make.chat())
    found = make.compare(recorded, make.whole(make.chat() | {name: 1}))
    assert [str(each.kind) for each in found] == ([] if name in ("a b", "web_20250305") else ["new-field"])
    body = make.chat() | {name: 1}
    del body["usage"]
    assert ("breaking", "gone-field", "usage") in make.told(make.compare(recorded, make.whole(body)))


def test_an_object_of_very_many_keys_is_a_map(make: type[Makers]) -> None:
    one = {"words": {f"w{chr(97 + i % 26)}{chr(97 + i // 26)}": 1 for i in range(80)}}
    other = {"words": {f"x{chr(97 + i % 26)}{chr(97 + i // 26)}": 1 for i in range(90)}}
    assert make.compare(make.whole(one), make.whole(other)) == []


def test_vectors_of_another_length_are_of_another_type(make: type[Makers]) -> None:
    def embeddings(vector: Any) -> Any:
        return make.whole({"object": "list", "data": [{"object": "embedding", "index": 0, "embedding": vector}]})

    assert make.compare(embeddings([0.1] * 768), embeddings([0.2] * 767 + [1])) == []
    found = make.compare(embeddings([0.1] * 768), embeddings([0.1] * 384))
    assert make.told(found) == [("breaking", "changed-type", "data[].embedding")]
    assert (found[0].recorded or "").startswith("array of 768 numbers")
    assert make.told(make.compare(embeddings("A" * 4096), embeddings("A" * 2048))) == [
        ("breaking", "changed-type", "data[].embedding")
    ]


def test_nothing_is_asked_of_arrays_that_are_empty_and_items_of_one_that_was_are_a_note(make: type[Makers]) -> None:
    full, empty = make.whole({"results": [{"title": "x"}]}), make.whole({"results": []})
    assert make.compare(full, empty) == []
    assert make.told(make.compare(empty, full)) == [("note", "new-field", "results[]")]


def test_what_one_recording_lacks_may_be_lacking_and_what_one_has_may_be_there(make: type[Makers]) -> None:
    body = make.chat()
    without = {key: item for key, item in make.chat().items() if key != "usage"}
    assert make.compare([make.whole(body), make.whole(without)], make.whole(without)) == []
    assert make.compare([make.whole(without), make.whole(body)], make.whole(body)) == []


def test_a_field_that_is_missing_in_some_objects_only_is_gone_there(make: type[Makers]) -> None:
    recorded = make.whole({"data": [{"id": "a", "size": 1}, {"id": "b", "size": 2}]})
    found = make.compare(recorded, make.whole({"data": [{"id": "a", "size": 1}, {"id": "b"}]}))
    assert make.told(found) == [("breaking", "gone-field", "data[].size")]
    assert found[0].observed == "absent in 1 of 2"


def test_another_model_behind_the_alias_is_additive(make: type[Makers]) -> None:
    found = make.compare(make.whole(make.chat()), make.whole(make.chat(model="gpt-4o-2024-11-20")))
    assert make.told(found) == [("additive", "model", "behind gpt-4o")]
    assert (found[0].recorded, found[0].observed) == ("gpt-4o-2024-08-06", "gpt-4o-2024-11-20")


@pytest.mark.parametrize(
    ("status", "severity"),
    [(400, "breaking"), (404, "breaking"), (201, "additive"), (429, "note"), (503, "note"), (401, "note")],
)
def test_another_status_is_told_alone(make: type[Makers], status: int, severity: str) -> None:
    refused = make.made(status=status, body={"json": {"error": {"message": "no", "type": "x"}}})
    found = make.compare(make.whole(make.chat()), refused)
    assert make.told(found) == [(severity, "status", "status")]


def test_bodies_of_errors_are_compared_too(make: type[Makers]) -> None:
    one = make.made(status=404, body={"json": {"error": {"message": "no such model", "code": "x"}}})
    other = make.made(status=404, body={"json": {"detail": "no such model"}})
    assert make.told(make.compare(one, other)) == [("additive", "new-field", "detail"), ("note", "gone-field", "error")]


def test_another_content_type_is_breaking_where_the_body_is_read_differently(make: type[Makers]) -> None:
    recorded = make.whole(make.chat())
    page = make.made(headers={"content-type": "text/html"}, body={"text": "<html>"})
    assert make.told(make.compare(recorded, page)) == [("breaking", "content-type", "content-type")]
    named = make.whole(make.chat(), headers={"content-type": "application/vnd.api+json; charset=utf-8"})
    assert make.told(make.compare(recorded, named)) == [("additive", "content-type", "content-type")]
    charset = make.whole(make.chat(), headers={"Content-Type": "application/json; charset=utf-8"})
    assert make.compare(recorded, charset) == []


def test_of_binary_bodies_only_the_type_counts(make: type[Makers]) -> None:
    audio = {"content-type": "audio/mpeg"}
    one = make.made(headers=audio, body={"base64": "AAAA"})
    assert make.compare(one, make.made(headers=audio, body={"base64": "//////8="})) == []
    other = make.made(headers={"content-type": "audio/wav"}, body={"base64": "AAAA"})
    assert make.told(make.compare(one, other)) == [("additive", "content-type", "content-type")]


def test_what_a_transport_raised_is_no_answer(make: type[Makers]) -> None:
    reset = make.made(
        status=None, headers={}, body=None, is_exception=True, complete=False,
        exception={"kind": "ConnectError", "message": "refused"},
    )  # fmt: skip
    found = make.compare(make.whole(make.chat()), reset)
    assert make.told(found) == [("note", "status", "status")]
    assert found[0].observed == "ConnectError: refused"
