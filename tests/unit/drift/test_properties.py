"""Whatever an answer looks like: it is no drift from itself, and a change made on purpose is found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stackproof.drift import nature
from stackproof.drift.accepted import KnownShape
from stackproof.drift.fields import findings
from stackproof.drift.finding import Severity
from stackproof.drift.jsonshape import Shape

if TYPE_CHECKING:
    from tests.unit.drift.conftest import Makers, Repository

Recording = dict[str, Any]
_SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
_KEYS = st.sampled_from(["type", "id", "content", "data", "a b", "x", "input", "embedding", "12345", ""]) | st.text(
    max_size=6
)
_JSON = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(_KEYS, inner, max_size=6), max_leaves=30
)
_QUIET = settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def _shape(*values: Any) -> Shape:
    shape = Shape()
    for value in values:
        shape.take(value)
    return shape


def _known(*shapes: Shape) -> KnownShape:
    known = KnownShape()
    for shape in shapes:
        known.add(shape)
    return known


@given(st.lists(_JSON, min_size=1, max_size=4))
@_QUIET
def test_json_never_differs_from_itself(values: list[Any]) -> None:
    shape = _shape(*values)
    assert list(findings(_known(shape), shape)) == []


@given(_JSON, st.lists(_JSON, max_size=3))
@_QUIET
def test_whatever_is_accepted_too_an_accepted_answer_has_nothing_new(value: Any, others: list[Any]) -> None:
    known = _known(_shape(value), *(_shape(other) for other in others))
    assert [each for each in findings(known, _shape(value)) if each.kind in ("new-field", "value")] == []


@given(_JSON, _JSON)
@_QUIET
def test_any_two_values_can_be_compared_and_what_is_found_is_short(one: Any, other: Any) -> None:
    for each in findings(_known(_shape(one)), _shape(other)):
        assert len(each.recorded or "") < 400
        assert len(each.observed or "") < 400
        json.dumps([each.where, each.recorded, each.observed])


def test_no_recording_of_this_project_differs_from_itself(make: type[Makers], repository: Repository) -> None:
    assert len(repository.all) > 500
    for name, content in repository.all:
        assert make.compare(content, content) == [], name


def _values(content: Recording) -> list[Any]:
    response = content["response"]
    if "events" in response:
        return [event["data"] for event in response["events"] if isinstance(event.get("data"), dict)]
    return [response["body"]["json"]]  # an array too


def _objects(value: Any, inside: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Every object whose fields are looked at, with the names that lead to it."""
    if isinstance(value, dict):
        if not any(map(nature.is_made_up, value)) and len(value) < 60:
            yield inside, value
        for key, item in value.items():
            if key not in nature.OPAQUE:
                yield from _objects(item, (*inside, key))
    elif isinstance(value, list):
        for item in value[:100]:
            yield from _objects(item, inside)


def _kinds(content: Recording) -> list[str]:
    return [
        str(event.get("text") or event.get("event") or (event.get("data") or {}).get("type") or "line")
        for event in content["response"].get("events", ())
    ]


@given(st.integers(0, 2**32), _JSON)
@_QUIET
def test_nothing_in_an_answer_can_raise(make: type[Makers], repository: Repository, seed: int, value: Any) -> None:
    rng = Random(seed)  # noqa: S311 - to pick, not to hide
    recorded = rng.choice(repository.answered)
    observed = make.copy(recorded)
    for _ in range(5):
        owner = rng.choice([owner for each in _values(observed) for _, owner in _objects(each)] or [{}])
        owner[rng.choice([*owner, "new"])] = make.deep(value)
    assert make.compare(observed, observed) == []
    for each in (*make.compare(recorded, observed), *make.compare(observed, recorded)):
        assert each.where


@given(st.integers(0, 2**32))
@_QUIET
def test_a_field_added_anywhere_is_additive(make: type[Makers], repository: Repository, seed: int) -> None:
    rng = Random(seed)  # noqa: S311 - to pick, not to hide
    recorded = rng.choice(repository.answered)
    observed = make.copy(recorded)
    owner = rng.choice([owner for value in _values(observed) for _, owner in _objects(value)] or [{}])
    owner["stackproof_new"] = 1
    found = make.compare(recorded, observed)
    assert [(str(each.kind), each.severity, each.observed) for each in found] == [("new-field", Severity.ADDITIVE, "1")]
    assert found[0].where.endswith("stackproof_new")


@given(st.integers(0, 2**32))
@_QUIET
def test_a_field_taken_away_everywhere_is_found(make: type[Makers], repository: Repository, seed: int) -> None:
    rng = Random(seed)  # noqa: S311 - to pick, not to hide
    recorded = rng.choice(repository.answered)
    observed = make.copy(recorded)
    names = sorted({(path, key) for value in _values(recorded) for path, owner in _objects(value) for key in owner})
    path, key = rng.choice(names)
    if key in ("type", "object", "event_type", "done") and not path and "events" in recorded["response"]:
        return  # what events are told apart by: another kind of event is another difference
    for value in _values(observed):
        for where, owner in _objects(value):
            if where == path:
                owner.pop(key, None)
    found = [each for each in make.compare(recorded, observed) if each.kind == "gone-field"]
    assert any(each.where.rpartition(".")[2].rpartition(" ")[2].startswith(key) for each in found), (path, key)
    only_null = all(owner.get(key) is None for value in _values(recorded) for w, owner in _objects(value) if w == path)
    if not only_null and key not in nature.SAID | nature.PASSING:
        assert any(each.severity is Severity.BREAKING for each in found)


@given(st.integers(0, 2**32))
@_QUIET
def test_a_field_of_another_type_is_breaking(make: type[Makers], repository: Repository, seed: int) -> None:
    rng = Random(seed)  # noqa: S311 - to pick, not to hide
    recorded = rng.choice(repository.answered)
    observed = make.copy(recorded)
    leaves = [
        (owner, key)
        for value in _values(observed)
        for path, owner in _objects(value)
        for key, item in owner.items()
        if isinstance(item, str | int | float | bool) and key not in ("type", "object", "event_type", "done")
    ]
    owner, key = rng.choice(leaves)
    owner[key] = [[owner[key]]]
    found = make.compare(recorded, observed)
    assert any(each.kind == "changed-type" and each.severity is Severity.BREAKING for each in found), (key, found)


@given(st.integers(0, 2**32))
@_QUIET
def test_a_kind_of_event_taken_away_is_found_and_so_is_a_new_one(
    make: type[Makers], repository: Repository, seed: int
) -> None:
    rng = Random(seed)  # noqa: S311 - to pick, not to hide
    streams = [each for each in repository.answered if len(set(_kinds(each))) > 2]
    recorded = rng.choice(streams)
    observed, kinds = make.copy(recorded), _kinds(recorded)
    kind = rng.choice(sorted(set(kinds)))
    observed["response"]["events"] = [
        event for event, each in zip(observed["response"]["events"], kinds, strict=True) if each != kind
    ]
    assert any(
        each.kind == "gone-event" and each.where == kind and each.severity is Severity.BREAKING
        for each in make.compare(recorded, observed)
    ), kind
    assert any(each.kind == "new-event" for each in make.compare(observed, recorded)) or kind.endswith(".added")


@given(st.integers(0, 2**32))
@_QUIET
def test_neighbours_that_change_places_are_found_unless_they_are_of_one_kind(
    make: type[Makers], repository: Repository, seed: int
) -> None:
    rng = Random(seed)  # noqa: S311 - to pick, not to hide
    streams = [each for each in repository.answered if len(set(_kinds(each))) > 3]
    recorded = rng.choice(streams)
    kinds = _kinds(recorded)
    once = [at for at in range(len(kinds) - 1) if kinds.count(kinds[at]) == 1 and kinds.count(kinds[at + 1]) == 1]
    if not once:
        return
    at = rng.choice(once)
    observed = make.copy(recorded)
    events = observed["response"]["events"]
    events[at], events[at + 1] = events[at + 1], events[at]
    found = [each for each in make.compare(recorded, observed) if each.kind == "event-order"]
    assert [each.where for each in found] == [f"{kinds[at]} before {kinds[at + 1]}"]


@given(st.integers(0, 2**32))
@_QUIET
def test_the_number_of_deltas_changes_nothing(make: type[Makers], repository: Repository, seed: int) -> None:
    """A delta in the middle of others is said twice, or left out."""
    rng = Random(seed)  # noqa: S311 - to pick, not to hide
    streams = [each for each in repository.answered if len(_kinds(each)) > 6]
    recorded = rng.choice(streams)
    kinds = _kinds(recorded)
    shown = [json.dumps(_outline(event)) for event in recorded["response"]["events"]]
    inner = [at for at in range(2, len(kinds) - 1) if shown[at - 1] == shown[at] == shown[at + 1]]
    if not inner:
        return
    observed = make.copy(recorded)
    at = rng.choice(inner)
    times = rng.choice([0, 2, 9])
    observed["response"]["events"][at : at + 1] = [make.deep(observed["response"]["events"][at]) for _ in range(times)]
    assert make.compare(recorded, observed) == []
    assert make.compare(observed, recorded) == []


def _outline(value: Any) -> Any:
    """What a value is made of, without what it says."""
    if isinstance(value, dict):
        return {key: _outline(item) for key, item in value.items() if key not in ("joined", "cut")}
    if isinstance(value, list):
        return [_outline(item) for item in value]
    return type(value).__name__


@pytest.mark.parametrize("seed", range(3))
def test_what_is_found_does_not_depend_on_the_order_of_keys(
    make: type[Makers], repository: Repository, seed: int
) -> None:
    def turned(value: Any) -> Any:
        if isinstance(value, dict):
            order = Random(seed).sample(sorted(value), len(value))  # noqa: S311 - to turn, not to hide
            return {key: turned(value[key]) for key in order}
        return [turned(item) for item in value] if isinstance(value, list) else value

    for _, content in repository.all[seed::40]:
        observed = make.copy(content)
        observed["response"] = {
            **content["response"],
            **{key: turned(content["response"][key]) for key in ("body", "events") if key in content["response"]},
        }
        assert make.compare(content, observed) == []
