"""Rules fold what they name, where they say, and nothing else."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackproof.recorder import rules

FOUND = (
    'document_id: 3f0c2a9e-7d41, score: 0.4137, attributes: {"a": 1}\n'
    '{"document_id": "3f0c", "score": 0.9, "attributes": {}} cite as <|file-abc123|>'
)


def _apply(value: Any, *names: Any) -> Any:
    active = [name if isinstance(name, dict) else {"name": name} for name in names]
    rules.check(active)
    return rules.apply({"path": "/x", "body": {"json": value}}, active)["body"]["json"]


def test_what_a_search_found_folds_in_the_tool_s_message() -> None:
    value = {"messages": [{"role": "user", "content": FOUND}, {"role": "tool", "content": FOUND}]}
    folded = _apply(value, "file_search")
    assert folded["messages"][0]["content"] == FOUND
    shown = folded["messages"][1]["content"]
    assert shown == (
        'document_id: *, score: *, attributes: *\n{"document_id": *, "score": *, "attributes": *} cite as <|*|>'
    )


@pytest.mark.parametrize(
    "value",
    [
        {"input": [{"type": "function_call_output", "output": "score: 0.1"}]},
        {"messages": [{"role": "user", "content": [{"type": "tool_result", "content": [{"text": "score: 0.1"}]}]}]},
        {"messages": [{"role": "tool", "content": [{"type": "text", "text": "score: 0.1"}]}]},
    ],
)
def test_the_tool_s_message_is_known_on_every_wire(value: Any) -> None:
    assert json.dumps(_apply(value, "file_search")) == json.dumps(value).replace("0.1", "*")


@pytest.mark.parametrize(
    "text", ["score: 3 of 10", "the score 0.5 is", "documents: 3f0c", "highscore: 0.5", "attributes: none"]
)
def test_other_text_in_a_tool_s_message_stays(text: str) -> None:
    value = {"messages": [{"role": "tool", "content": text}]}
    assert _apply(value, "file_search") == value


def test_a_whole_number_is_the_same_with_and_without_a_point() -> None:
    value = {"temperature": 0.0, "n": [1.0, -0.0, 2, 0.5, True, "1.0"], "far": 1e300, "edge": 2.0**53}
    folded = _apply(value, "whole_floats")
    assert json.dumps(folded) == json.dumps({**value, "temperature": 0, "n": [1, 0, 2, 0.5, True, "1.0"]})


def test_long_decimals_in_text_fold_and_short_ones_do_not() -> None:
    value = {"a": ["distance 0.41371, price 3.141, version 1.2.3", 0.41371], "b": {"c": "-12.00001e-5!"}}
    assert _apply(value, "long_decimals") == {
        "a": ["distance *, price 3.141, version 1.2.3", 0.41371],
        "b": {"c": "*!"},
    }


def test_floats_are_rounded_to_five_places_and_integers_are_not() -> None:
    folded = _apply({"a": [3.1415926, 1, True, 1e-9], "b": 0.1}, "floats")
    assert json.dumps(folded) == '{"a": [3.14159, 1, true, 0.0], "b": 0.1}'


def test_null_is_absent_in_objects_and_stays_in_lists() -> None:
    assert _apply({"a": None, "b": [None, {"c": None}], "d": 0}, "nulls") == {"b": [None, {}], "d": 0}


def test_names_that_are_dropped_are_dropped_in_their_place_only() -> None:
    value = {
        "stream_options": {"x": 1},
        "n": {"stream_options": 1},
        "project_id": "p",
        "extra_body": {"project_id": "p", "k": 1},
    }
    assert _apply(value, "bedrock") == {key: item for key, item in value.items() if key != "stream_options"}
    assert _apply(value, "project_id")["extra_body"] == {"k": 1}
    assert _apply(value, "project_id")["project_id"] == "p"
    top = _apply(value, {"name": "project_id", "path": "."})
    assert top == {key: item for key, item in value.items() if key != "project_id"}


def test_a_path_narrows_a_rule() -> None:
    value = {"a": {"x": 0.1234567}, "b": [{"k": "y", "x": 0.1234567}, {"k": "z", "x": 0.1234567}, 7]}
    assert _apply(value, {"name": "floats", "path": "a.x"}) == {**value, "a": {"x": 0.12346}}
    folded = _apply(value, {"name": "floats", "path": "b[k=y]"})
    assert [item["x"] for item in folded["b"][:2]] == [0.12346, 0.1234567]
    assert _apply(value, {"name": "floats", "path": "b[]"})["b"][1]["x"] == 0.12346
    for nowhere in ("c.d", "a[]", "a.x.y", "b.x"):
        assert _apply(value, {"name": "floats", "path": nowhere}) == value


def test_rules_act_in_their_order_and_leave_the_request_alone() -> None:
    value = {"a": [None, 1.23456789], "b": None}
    before = copy.deepcopy(value)
    assert _apply(value, "nulls", "floats") == {"a": [None, 1.23457]}
    assert value == before


@given(
    st.recursive(
        st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["messages", "role", "content", "x"]), inner, max_size=3)
        ),
    ),
    st.sampled_from(sorted(rules.BUILT_IN)),
)
def test_folding_twice_is_folding_once(value: Any, name: str) -> None:
    once = _apply(value, name)
    assert json.dumps(_apply(once, name)) == json.dumps(once)


@pytest.mark.parametrize("body", [None, {"sha256": "x"}, {"form": [["a", "1.23456789"]]}, {"json": None}])
def test_bodies_that_are_no_json_are_not_folded(body: Any) -> None:
    form = {"path": "/x", "body": body}
    assert rules.apply(form, [{"name": name} for name in rules.BUILT_IN]) == form


def test_only_rules_that_changed_something_acted() -> None:
    form = {"path": "/x", "body": {"json": {"a": 1.23456789}}}
    active = [{"name": "nulls"}, {"name": "floats"}, {"name": "floats", "path": "b"}]
    assert rules.acted(form, active) == [{"name": "floats"}]


@pytest.mark.parametrize(
    ("rule", "complaint"),
    [
        (
            {"name": "flots"},
            "'flots' is not one of: bedrock, file_search, floats, long_decimals, nulls, poll, project_id",
        ),
        ({}, "None is not one of"),
        ({"name": "floats", "paht": "a"}, "unknown key: paht"),
        ({"name": "floats", "repeat": "last"}, "repeat can only be 'ordinal', not 'last'"),
        ({"name": "floats", "endpoint": "GET /x"}, "unknown key: endpoint"),
        ({"name": "poll", "endpoint": "GET /x"}, "needs repeat: last, not None"),
        ({"name": "poll", "endpoint": "GET /x", "repeat": "ordinal"}, "needs repeat: last, not 'ordinal'"),
        ({"name": "poll", "repeat": "last"}, "None is no endpoint"),
        ({"name": "poll", "endpoint": "/x", "repeat": "last"}, "'/x' is no endpoint"),
        ({"name": "poll", "endpoint": "GET /x/", "repeat": "last"}, "is no endpoint"),
        ({"name": "poll", "endpoint": "GET /x", "path": "a", "repeat": "last"}, "unknown key: path"),
        ({"name": "floats", "path": ""}, "is no path"),
        ({"name": "floats", "path": "a..b"}, "is no path"),
        ({"name": "floats", "path": "a[b"}, "is no path"),
        ({"name": "floats", "path": "a."}, "is no path"),
        ({"name": "floats", "path": "a[]b"}, "is no path"),
    ],
)
def test_a_wrong_rule_is_told_before_anything_runs(rule: dict[str, str], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint.replace("[", r"\[")):
        rules.check([{"name": "nulls"}, rule])


@pytest.mark.parametrize(
    ("method", "path", "repeats"),
    [
        ("GET", "/batches/b-1", True),
        ("GET", "/batches/b-1/results", False),
        ("GET", "/batches", False),
        ("POST", "/batches/b-1", False),
        ("GET", "/other/b-1", False),
        ("GET", "/jobs/a/of/b", True),
    ],
)
def test_a_poll_is_known_by_its_method_and_every_step_of_its_path(method: str, path: str, repeats: bool) -> None:
    active = [{"name": "floats"}, *({"name": "poll", "endpoint": e} for e in ("GET /batches/*", "GET /jobs/*/of/b"))]
    assert rules.repeats_last({"method": method, "path": path}, active) is repeats


def test_a_poll_folds_nothing() -> None:
    form = {"path": "/batches/b-1", "body": {"json": {"a": 1.23456789, "b": None}}}
    active = [{"name": "poll", "endpoint": "GET /batches/*", "repeat": "last"}]
    assert rules.apply(form, active) == form
    assert rules.acted(form, active) == []
