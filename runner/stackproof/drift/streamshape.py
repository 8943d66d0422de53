"""The shape of a stream: which kinds of events it has, in which order, and what each kind looks like.

An event's kind is what it names itself: its `type`, `event_type` or `object`, the name on its `event:` line, `done` of
Ollama's lines, or its text (`[DONE]`). Order is asked within a lane: an item of the output, a content block, a choice;
what belongs to no lane (`response.created`, `message_stop`) has an order with everything.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from stackproof.drift import nature
from stackproof.drift.jsonshape import Shape

_EVENTS = 20_000
_LONGEST = 60
_CHUNK = "chat.completion.chunk"
FINISH = "finish reason"
_STAGES = frozenset({"role", "content", FINISH})

Lane = tuple[str, Any] | None


@dataclass(slots=True, kw_only=True)
class StreamShape:
    """shapes: by kind of event. kinds: what lanes are about → the kinds of events in *every* such lane, and in any.

    places: (kind or stage, lane) → indices of its first and last event. order: the events, equal ones in a row as one.
    """

    shapes: dict[str, Shape] = field(default_factory=dict)
    plain: set[str] = field(default_factory=set)  # kinds of events that belong to no lane
    kinds: dict[str, tuple[set[str], set[str]]] = field(default_factory=dict)
    places: dict[tuple[str, Lane], tuple[int, int]] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)

    @property
    def choices(self) -> set[Lane]:
        """The choices of which a chat completion's chunks brought anything."""
        return {lane for stage, lane in self.places if stage in _STAGES}

    @property
    def open_choices(self) -> set[Lane]:
        """Those that no chunk gave a finish reason."""
        return {lane for lane in self.choices if (FINISH, lane) not in self.places}


def shape_of(events: list[Mapping[str, Any]], framing: str) -> StreamShape:
    """The shape of the events of a recording."""
    found = StreamShape()
    lanes: dict[Lane, tuple[set[str], set[str]]] = {}  # what it is about, kinds of its events
    last = ""
    for number, (name, value) in enumerate(_payloads(events[:_EVENTS], framing)):
        kind = _kind_of(name, value)
        if kind in nature.IDLE_EVENTS:
            continue
        shape = found.shapes.setdefault(kind, Shape())
        shape.take({"event:": name, **value} if isinstance(value, dict) and name else value)
        lane = _lane_of(value)
        _note(found, (kind, lane), number)
        for stage, choice in _stages(value):
            _note(found, (stage, choice), number)
        if lane is None:
            found.plain.add(kind)
        else:
            about, kinds = lanes.setdefault(lane, (set(), set()))
            about.update(_about(value))
            kinds.add(kind)
        if kind != last:
            found.order.append(kind)
        elif not found.order[-1].endswith(")+"):
            found.order[-1] = f"({kind})+"
        last = kind
    for about, kinds in lanes.values():
        every, some = found.kinds.setdefault("+".join(sorted(about)), (set(kinds), set()))
        every &= kinds
        some |= kinds
    return found


def _note(found: StreamShape, key: tuple[str, Lane], number: int) -> None:
    first, _ = found.places.get(key, (number, number))
    found.places[key] = (first, number)


def _payloads(events: list[Mapping[str, Any]], framing: str) -> Iterator[tuple[str, Any]]:
    """The name on the `event:` line and the value of each event; comments and empty events are left out."""
    for event in events:
        name = str(event.get("event", ""))
        if "data" in event:
            yield name, event["data"]
            continue
        text = str(event.get("text", event.get("raw", "")))
        if "raw" in event and framing == "sse":
            lines = text.splitlines()
            name = next((line[6:].strip() for line in lines if line.startswith("event:")), "")
            text = "\n".join(line[5:].removeprefix(" ") for line in lines if line.startswith("data:"))
        if not text.strip():
            continue
        try:
            yield name, json.loads(text)
        except (ValueError, RecursionError):
            yield name, text


def _kind_of(name: str, value: Any) -> str:
    if isinstance(value, dict):
        for key in ("type", "event_type", "object"):
            if isinstance(value.get(key), str) and value[key]:
                return str(value[key])[:_LONGEST]
        if name:
            return name[:_LONGEST]
        if isinstance(value.get("done"), bool):
            return f"done: {json.dumps(value['done'])}"
        if isinstance(value.get("choices"), list):
            return _CHUNK  # the first one of Azure's names no object
        return "error" if value.get("error") else "event"
    return value[:_LONGEST] if isinstance(value, str) else "event"


def _lane_of(value: Any) -> Lane:
    if not isinstance(value, dict):
        return None
    for key in ("output_index", "index"):
        if isinstance(value.get(key), int):
            return ("at", value[key])
    item = value.get("item")
    named = value.get("item_id") or (item.get("id") if isinstance(item, dict) else None)
    return ("of", named) if isinstance(named, str) else None


def _about(value: dict[str, Any]) -> Iterator[str]:
    for key in ("item", "part", "content_block"):
        inner = value.get(key)
        if isinstance(inner, dict) and isinstance(inner.get("type"), str):
            yield inner["type"][:_LONGEST]


def _stages(value: Any) -> Iterator[tuple[str, Lane]]:
    """What a chunk of a chat completion brings: chunks are all of one kind, and have an order all the same."""
    if not isinstance(value, dict) or not isinstance(value.get("choices"), list):
        return
    for at, choice in enumerate(value["choices"]):
        if not isinstance(choice, dict):
            continue
        index = choice.get("index")
        lane: Lane = ("at", index if isinstance(index, int) else at)
        delta = choice.get("delta")
        if isinstance(delta, dict):
            if delta.get("role"):
                yield "role", lane
            if any(delta.get(key) for key in ("content", "tool_calls", "refusal")):
                yield "content", lane
        if choice.get("finish_reason"):
            yield FINISH, lane
    if value.get("usage"):
        yield "usage", None
