"""The events that a claim expects, in order, and where an observed sequence leaves them.

An expected event is a text or a mapping. A text is the type of an event, followed by `*` (none or more), `+` (one or
more) or `?` (none or one) where it may repeat. A mapping has a `type` and any other fields, all of which the observed
event must have with equal values; it stands for exactly one event, and its type for itself, whatever it ends with.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from stackproof.faults.claim_values import Json, NoJsonError, as_json, same, shown

TYPE = "type"


class Repeat(StrEnum):
    """How often an expected event occurs; the value is its mark behind the type."""

    ONCE = ""
    ANY = "*"
    SOME = "+"
    MAYBE = "?"


@dataclass(frozen=True, kw_only=True, slots=True)
class Expected:
    """One expected event. fields: what the observed event must have, its type among it."""

    fields: Mapping[str, Json]
    repeat: Repeat = Repeat.ONCE

    @property
    def written(self) -> Json:
        """As it stands in the claims file."""
        return dict(self.fields) if self.fields.keys() != {TYPE} else f"{self.fields[TYPE]}{self.repeat.value}"

    def matches(self, event: Mapping[str, Json]) -> bool:
        """Whether an observed event is this one."""
        return all(key in event and same(value, event[key]) for key, value in self.fields.items())


def expected(item: object) -> Expected:
    """One item of `events` in a claims file; ValueError, with a sentence, when it is none."""
    match item:
        case str() if item:
            repeat = next((each for each in Repeat if each.value and item.endswith(each.value)), Repeat.ONCE)
            name = item.removesuffix(repeat.value)
            if not name or name != name.strip() or any(mark in name for mark in "*+?"):
                raise ValueError(f"{item!r} is no event: write its type, and *, + or ? behind it where it repeats")
            return Expected(fields={TYPE: name}, repeat=repeat)
        case Mapping() if isinstance(item.get(TYPE), str) and item[TYPE]:
            fields = as_json(item, "the event")
            assert isinstance(fields, dict)  # noqa: S101 - a mapping stays one
            return Expected(fields=fields)
        case _:
            raise ValueError("an event must be a text, or a mapping with a 'type'")


def observed(events: Iterable[object]) -> list[dict[str, Json]]:
    """What a test observed, each as a mapping with its `type`; NoJsonError for what is no event.

    A text is an event with this type. A mapping must have a `type`. Any other object must have an attribute `type`;
    the fields of a dataclass go with it.
    """
    return [_event(event, f"event {number}") for number, event in enumerate(events, 1)]


def written(events: Sequence[Mapping[str, Json]]) -> list[Json]:
    """Observed events as briefly as the claims file would have them."""
    return [event[TYPE] if event.keys() == {TYPE} else dict(event) for event in events]


def words(item: Json) -> str:
    """An event for people, as either side has it: its type alone, or what it holds."""
    return item if isinstance(item, str) else shown(item)


def difference(wanted: Sequence[Expected], events: Sequence[Mapping[str, Json]]) -> str | None:
    """Where `events` leave what is wanted, as a sentence; None when they are it."""
    steps = [step for each in wanted for step in _steps(each)]
    places = _reached(steps, {0})
    for number, event in enumerate(events, 1):
        after: set[int] = set()
        for place in places:
            if place < len(steps) and steps[place].matches(event):
                after.add(place if steps[place].repeat is Repeat.ANY else place + 1)
        if not after:
            return f"event {number} is {_words(event)}; expected there: {_next(steps, places)}"
        places = _reached(steps, after)
    if len(steps) in places:
        return None
    seen = f"{len(events)} event{'' if len(events) == 1 else 's'}" if events else "no event"
    return f"it ends after {seen}; expected next: {_next(steps, places)}"


def _steps(each: Expected) -> tuple[Expected, ...]:
    if each.repeat is Repeat.SOME:
        return (dataclasses.replace(each, repeat=Repeat.ONCE), dataclasses.replace(each, repeat=Repeat.ANY))
    return (each,)


def _reached(steps: Sequence[Expected], places: Iterable[int]) -> set[int]:
    """The places that can be reached from `places` by leaving out what may be left out."""
    found: set[int] = set()
    for place in places:
        while True:
            found.add(place)
            if place >= len(steps) or steps[place].repeat is Repeat.ONCE:
                break
            place += 1  # noqa: PLW2901 - it walks on
    return found


def _next(steps: Sequence[Expected], places: Iterable[int]) -> str:
    names = [_words(steps[place].fields) if place < len(steps) else "the end" for place in sorted(places)]
    return " or ".join(dict.fromkeys(names))


def _words(event: Mapping[str, Json]) -> str:
    return words(*written([event]))


def _event(event: object, where: str) -> dict[str, Json]:
    match event:
        case str():
            return {TYPE: str(event)}
        case Mapping():
            fields = as_json(event, where)
        case _ if dataclasses.is_dataclass(event) and not isinstance(event, type):
            own = {field.name: getattr(event, field.name) for field in dataclasses.fields(event)}
            fields = as_json({TYPE: getattr(event, TYPE, None), **own}, where)
        case _:
            fields = as_json({TYPE: getattr(event, TYPE, None)}, where)
    if not isinstance(fields, dict) or not isinstance(fields.get(TYPE), str):
        raise NoJsonError(f"{where} has no 'type' that is a text: {event!r}")
    return fields
