"""The events of an answer, typed, and their JSON form: an object with an explicit `type` and that type's fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from stackproof.suggest import did_you_mean

JsonObject: TypeAlias = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class TextDelta:
    """A piece of a message while it is being written."""

    type: ClassVar[str] = "text_delta"
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """A whole message, once it is written. `items`: as for `ToolCall`."""

    type: ClassVar[str] = "message"
    text: str
    items: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    """The model asks for a tool. `arguments` is the text that it wrote, which is JSON if the model was right.

    `items` are what the provider wants to read again in the next request, where that is more than this: its own form of
    the call, after what it thought before (`reasoning`).
    """

    type: ClassVar[str] = "tool_call"
    call_id: str
    name: str
    arguments: str
    items: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Completed:
    """The answer is complete; the last event. `usage`: the provider's counts as it names them."""

    type: ClassVar[str] = "completed"
    response_id: str | None = None
    usage: Mapping[str, Any] | None = None


ModelEvent: TypeAlias = TextDelta | Message | ToolCall | Completed

TYPES: Mapping[str, type[ModelEvent]] = {one.type: one for one in (TextDelta, Message, ToolCall, Completed)}
# The name of a field → what its value may be. Every field of an event is there, also one that is null; but `items`,
# which few providers need, stands only where there are some.
_FIELDS: Mapping[str, Mapping[str, tuple[type, ...]]] = {
    TextDelta.type: {"text": (str,)},
    Message.type: {"text": (str,)},
    ToolCall.type: {"call_id": (str,), "name": (str,), "arguments": (str,)},
    Completed.type: {"response_id": (str, type(None)), "usage": (dict, type(None))},
}
_WITH_ITEMS = frozenset({Message.type, ToolCall.type})


class UnknownTypeError(ValueError):
    """An event of a type that is not known."""


class MalformedEventError(ValueError):
    """An event of a known type that lacks a field, has one too many, or has a value of another kind."""


def encode(event: ModelEvent) -> JsonObject:
    """An event as the object that stands in a trace. UnknownTypeError for anything that is no event."""
    if TYPES.get(getattr(event, "type", "")) is not type(event):
        raise UnknownTypeError(f"an object of type {type(event).__name__}, which is no event")
    made: JsonObject = {"type": event.type, **{name: getattr(event, name) for name in _FIELDS[event.type]}}
    if isinstance(event, Message | ToolCall) and event.items:
        made["items"] = list(event.items)
    _fit(made)
    return made


def decode(value: Any) -> ModelEvent:
    """The event that `encode` made the object of. UnknownTypeError, MalformedEventError."""
    if not isinstance(value, dict):
        raise MalformedEventError("an event that is no object")
    name = value.get("type")
    if not isinstance(name, str) or name not in TYPES:
        near = did_you_mean(name, TYPES) if isinstance(name, str) else ""
        raise UnknownTypeError(f"an event of the unknown type {name!r}{near}")
    _fit(value)
    fields = {key: value[key] for key in _FIELDS[name]}
    if "items" in value:
        fields["items"] = tuple(value["items"])
    return TYPES[name](**fields)


def _fit(value: JsonObject) -> None:
    name, allowed = value["type"], _FIELDS[value["type"]]
    for key, kinds in allowed.items():
        if key not in value:
            raise MalformedEventError(f"an event {name} without {key}")
        if not isinstance(value[key], (*kinds, Mapping) if dict in kinds else kinds):
            raise MalformedEventError(f"an event {name} whose {key} is a {type(value[key]).__name__}")
    items = value.get("items", [])
    if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
        raise MalformedEventError(f"an event {name} whose items are no list of objects")
    extra = {"items"} if name in _WITH_ITEMS else set()
    if more := value.keys() - {"type", *allowed, *extra}:
        raise MalformedEventError(f"an event {name} with {', '.join(sorted(more))}, which belongs to no such event")
