"""Chunks, nearness and filters: the plain arithmetic of a search."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_stack.answers import RefusedError
from reference_stack.filters import passes
from reference_stack.retrieval import cosine, split


@pytest.mark.parametrize("text", ["", " \n\t "])
def test_no_text_has_no_chunks(text: str) -> None:
    assert split(text) == []


@given(words=st.lists(st.text("abc", min_size=1, max_size=3), max_size=60), size=st.integers(1, 20), data=st.data())
def test_chunks_hold_every_word_in_order(words: list[str], size: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, size // 2))
    chunks = [chunk.split() for chunk in split(" ".join(words), words=size, overlap=overlap)]
    assert all(1 <= len(chunk) <= size for chunk in chunks)
    joined = [*(chunks[0] if chunks else []), *(word for chunk in chunks[1:] for word in chunk[overlap:])]
    assert joined == words
    if len(chunks) > 1:
        assert len(chunks[-1]) > overlap, "none that is an edge only"


@pytest.mark.parametrize(
    ("one", "other", "near"),
    [
        ([1.0, 0.0], [2.0, 0.0], 1.0),
        ([1.0, 0.0], [0.0, 3.0], 0.0),
        ([1.0, 1.0], [-1.0, -1.0], -1.0),
        ([0.0, 0.0], [1.0, 1.0], 0.0),
    ],
)
def test_nearness_is_the_cosine(one: list[float], other: list[float], near: float) -> None:
    assert cosine(one, other) == pytest.approx(near)


ATTRIBUTES = {"year": 2004, "name": "ship", "big": True}


@pytest.mark.parametrize(
    ("condition", "meant"),
    [
        (None, True),
        ({"type": "eq", "key": "name", "value": "ship"}, True),
        ({"type": "ne", "key": "name", "value": "ship"}, False),
        ({"type": "ne", "key": "colour", "value": "red"}, True),
        ({"type": "eq", "key": "colour", "value": "red"}, False),
        ({"type": "gt", "key": "year", "value": 2004}, False),
        ({"type": "gte", "key": "year", "value": 2004}, True),
        ({"type": "lt", "key": "year", "value": 2005.5}, True),
        ({"type": "lte", "key": "name", "value": 3}, False),
        ({"type": "in", "key": "name", "value": ["ship", "boat"]}, True),
        ({"type": "nin", "key": "name", "value": ["ship"]}, False),
        ({"type": "and", "filters": []}, True),
        ({"type": "or", "filters": []}, False),
        (
            {
                "type": "or",
                "filters": [
                    {"type": "eq", "key": "name", "value": "car"},
                    {"type": "and", "filters": [{"type": "eq", "key": "big", "value": True}]},
                ],
            },
            True,
        ),
    ],
)
def test_a_filter_chooses_by_attributes(condition: Any, meant: bool) -> None:
    assert passes(ATTRIBUTES, condition) is meant


@pytest.mark.parametrize(
    "condition",
    [
        {},
        7,
        {"type": "like", "key": "name", "value": "s%"},
        {"type": "eq", "value": 1},
        {"type": "eq", "key": "name"},
        {"type": "and"},
        {"type": "or", "filters": [None, {"type": "eq"}]},
    ],
)
def test_what_is_no_filter_is_refused(condition: Any) -> None:
    with pytest.raises(RefusedError) as caught:
        passes(ATTRIBUTES, condition)
    assert caught.value.status == 400
