"""Residue is compared as JSON, exactly."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackproof.faults.claim_values import Json, NoJsonError, as_json, differences, same


class Word(StrEnum):
    FAILED = "failed"


class Code(IntEnum):
    KILLED = -9


JSON: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def found(expected: dict[str, Json], observed: dict[str, Json]) -> list[str]:
    return list(differences(expected, observed, "residue"))


@given(st.dictionaries(st.text(), JSON))
def test_what_is_equal_differs_in_nothing(value: dict[str, Json]) -> None:
    assert found(value, value) == []
    assert same(as_json(value, "v"), value)


@given(st.dictionaries(st.text(), JSON), st.dictionaries(st.text(), JSON))
def test_what_is_not_the_same_has_a_difference(one: dict[str, Json], other: dict[str, Json]) -> None:
    assert bool(found(one, other)) == (not same(one, other))


@pytest.mark.parametrize(
    ("expected", "observed", "told"),
    [
        ({"files": []}, {}, ["residue.files: expected [], not observed"]),
        ({}, {"files": []}, ["residue.files: not expected, observed []"]),
        ({"n": 1}, {"n": True}, ["residue.n: expected 1, observed true"]),
        ({"n": 1}, {"n": 1.0}, ["residue.n: expected 1, observed 1.0"]),
        ({"n": None}, {}, ["residue.n: expected null, not observed"]),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, ["residue.a.b[1]: expected 2, observed 3"]),
        (
            {"a": [1, 2]},
            {"a": [2, 1]},
            ["residue.a[0]: expected 1, observed 2", "residue.a[1]: expected 2, observed 1"],
        ),
        ({"a": [1]}, {"a": [1, 2]}, ["residue.a: expected [1], observed [1, 2]"]),
    ],
)
def test_each_place_that_differs_is_named(
    expected: dict[str, Json], observed: dict[str, Json], told: list[str]
) -> None:
    assert found(expected, observed) == told


def test_tuples_and_members_of_enums_are_values() -> None:
    value = as_json({"pending": (), "terminal": Word.FAILED, "returncode": Code.KILLED}, "residue")
    assert value == {"pending": [], "terminal": "failed", "returncode": -9}
    assert [type(each) for each in value.values()] == [list, str, int]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"files": {"a"}}, "residue.files is no JSON value: {'a'}"),
        ({"files": [Path("a")]}, r"residue.files\[0\] is no JSON value"),
        ({"n": float("nan")}, "residue.n is no JSON value: nan"),
        ({1: 2}, "residue has a key that is no text: 1"),
    ],
)
def test_what_json_cannot_hold_is_refused_with_its_place(value: object, told: str) -> None:
    with pytest.raises(NoJsonError, match=told):
        as_json(value, "residue")


def test_a_long_value_is_shown_without_its_middle() -> None:
    (line,) = found({"text": "a"}, {"text": "x" * 10_000})
    assert len(line) < 300
    assert " … " in line
