"""Sequences of events against what a claim expects of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackproof.faults import claim_events
from stackproof.faults.claim_values import NoJsonError


def difference(wanted: Sequence[object], events: Sequence[object]) -> str | None:
    return claim_events.difference([claim_events.expected(item) for item in wanted], claim_events.observed(events))


@pytest.mark.parametrize(
    ("wanted", "events"),
    [
        ([], []),
        (["a"], ["a"]),
        (["a", "b*", "c"], ["a", "c"]),
        (["a", "b*", "c"], ["a", "b", "b", "b", "c"]),
        (["a+"], ["a", "a"]),
        (["a?", "a", "b?"], ["a"]),
        (["a*", "a"], ["a", "a", "a"]),
        (["a*", "b*", "c*"], []),
        ([{"type": "a", "n": 1}], [{"type": "a", "n": 1, "more": [1]}]),
        ([{"type": "a*"}], ["a*"]),
        (["tool_ended:denied"], ["tool_ended:denied"]),
    ],
)
def test_a_sequence_that_is_as_expected_differs_in_nothing(wanted: list[object], events: list[object]) -> None:
    assert difference(wanted, events) is None


@pytest.mark.parametrize(
    ("wanted", "events", "told"),
    [
        (["a"], [], "it ends after no event; expected next: a"),
        ([], ["a"], "event 1 is a; expected there: the end"),
        (["a", "b*", "c"], ["a", "b", "d"], "event 3 is d; expected there: b or c"),
        (["a+"], [], "it ends after no event; expected next: a"),
        (["a", "a"], ["a"], "it ends after 1 event; expected next: a"),
        (["a?"], ["a", "a"], "event 2 is a; expected there: the end"),
        (["b", "a"], ["a", "b"], "event 1 is a; expected there: b"),
        ([{"type": "a", "n": 1}], [{"type": "a", "n": 2}], 'event 1 is {"type": "a", "n": 2}; expected there: '),
        ([{"type": "a", "n": 1}], ["a"], 'event 1 is a; expected there: {"type": "a", "n": 1}'),
        ([{"type": "a", "n": 1}], [{"type": "a", "n": True}], "event 1 is"),
    ],
)
def test_the_first_event_that_does_not_fit_is_named(wanted: list[object], events: list[object], told: str) -> None:
    found = difference(wanted, events)
    assert found is not None
    assert found.startswith(told)


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["", "*", "+", "?"])), max_size=5),
    st.lists(st.sampled_from("ab"), max_size=7),
)
def test_repetition_means_what_it_means_in_a_regular_expression(
    wanted: list[tuple[str, str]], events: list[str]
) -> None:
    pattern = "".join(f"{letter}{mark}" for letter, mark in wanted)
    # Possessive and lazy marks (`a*?`, `a++`) cannot arise: a letter stands between two marks.
    fits = re.fullmatch(pattern, "".join(events)) is not None
    assert (difference([f"{letter}{mark}" for letter, mark in wanted], events) is None) == fits


@pytest.mark.parametrize(
    "item", ["", "*", "a**", "a*b", " a", "a +", 3, None, ["a"], {"n": 1}, {"type": 1}, {"type": ""}]
)
def test_what_is_no_event_is_refused_in_a_claims_file(item: object) -> None:
    with pytest.raises(ValueError, match="event"):
        claim_events.expected(item)


@dataclass(frozen=True)
class Ended:
    type: ClassVar[str] = "tool_ended"
    status: str


class Plain:
    type = "started"


def test_an_event_may_be_a_text_a_mapping_a_dataclass_or_any_object_with_a_type() -> None:
    found = claim_events.observed(["a", {"type": "b", "n": (1, 2)}, Ended(status="denied"), Plain()])
    assert claim_events.written(found) == [
        "a",
        {"type": "b", "n": [1, 2]},
        {"type": "tool_ended", "status": "denied"},
        "started",
    ]


@pytest.mark.parametrize("event", [3, None, {"n": 1}, object(), Plain, {"type": "a", "n": {1, 2}}, {"type": "a", 1: 2}])
def test_what_is_no_event_is_refused_with_its_number(event: object) -> None:
    if event is Plain:  # a class has the attribute as well; it is what its instances are
        assert claim_events.observed([event]) == [{"type": "started"}]
        return
    with pytest.raises(NoJsonError, match="event 2"):
        claim_events.observed(["a", event])
