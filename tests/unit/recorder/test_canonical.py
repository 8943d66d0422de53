"""One text for equal values, and no value for a text that has no single meaning."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackproof.recorder.canonical import DEPTH_LIMIT, NotPlainJson, canonical, compact, parse

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
)


def _shuffled(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shuffled(item) for key, item in reversed(value.items())}
    return [_shuffled(item) for item in value] if isinstance(value, list) else value


@given(VALUES)
def test_key_order_and_spacing_never_matter(value: Any) -> None:
    loose = json.dumps(_shuffled(value), indent=3)
    assert canonical(parse(loose)) == canonical(value)


@given(VALUES)
def test_canonical_text_is_ascii_json_of_the_same_value(value: Any) -> None:
    text = canonical(value)
    assert text.isascii()
    assert canonical(json.loads(text)) == text


@given(VALUES)
def test_the_wire_form_reads_back_as_the_same_value(value: Any) -> None:
    raw = compact(value)
    raw.decode("utf-8")
    assert json.dumps(parse(raw)) == json.dumps(value)


def test_array_order_matters() -> None:
    assert canonical([1, 2]) != canonical([2, 1])


@pytest.mark.parametrize(
    ("one", "other"),
    [("1", "1.0"), ("null", "false"), ("{}", '{"a":null}'), ('"é"', '"e\\u0301"'), ("1", '"1"'), ("0", "false")],
)
def test_values_that_differ_keep_apart(one: str, other: str) -> None:
    assert canonical(parse(one)) != canonical(parse(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [("-0.0", "0.0"), ("-0.0e3", "0.0"), ("1e2", "100.0"), ('"\\u00e9"', '"é"'), ('[{"a":-0.0}]', '[{"a":0.0}]')],
)
def test_spellings_of_one_value_are_the_same(one: str, other: str) -> None:
    assert canonical(parse(one)) == canonical(parse(other))


def test_a_text_that_only_looks_like_a_negative_zero_stays() -> None:
    assert canonical({"a": "-0.0"}) == '{"a":"-0.0"}'
    assert canonical([-0.05]) == "[-0.05]"


def test_integers_are_exact_beyond_what_a_float_holds() -> None:
    assert canonical(parse("9007199254740993")) == "9007199254740993"
    assert compact(parse("123456789012345678901234567890")) == b"123456789012345678901234567890"


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":2}',
        '[{"b":{"a":1,"a":1}}]',
        "NaN",
        "[Infinity]",
        "-Infinity",
        "1e999",
        "",
        "{",
        '{"a":1} x',
        "9" * 5000,
        b"\xff\xfe",
        b'\xef\xbb\xbf{"a":1}',
    ],
)
def test_a_text_without_a_single_meaning_is_refused(text: str | bytes) -> None:
    with pytest.raises(NotPlainJson):
        parse(text)


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_depth_has_a_limit_that_does_not_depend_on_the_stack(opening: str, closing: str) -> None:
    deepest = opening * DEPTH_LIMIT + "1" + closing * DEPTH_LIMIT
    canonical(parse(deepest))
    with pytest.raises(NotPlainJson, match="deep"):
        parse(opening + deepest + closing)
    with pytest.raises(NotPlainJson):
        parse(opening * 100_000 + "1" + closing * 100_000)


def test_many_shallow_values_are_not_deep() -> None:
    assert len(parse("[" + ",".join(["{}"] * 1000) + "]")) == 1000
    assert parse(json.dumps("[" * 500)) == "[" * 500


def test_half_of_a_surrogate_pair_survives_as_an_escape() -> None:
    value = parse('{"delta":"\\ud83d"}')
    assert compact(value) == b'{"delta":"\\ud83d"}'
    assert parse(compact(value)) == value


def test_characters_travel_as_themselves() -> None:
    assert compact({"b": "é🙂", "a": 1.5}) == '{"b":"é🙂","a":1.5}'.encode()


def test_nothing_unwritable_is_written() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        canonical({"a": math.nan})
