"""The shape of JSON values: which fields there are, of which types, and where.

A path is written as `choices[].message.content`; an object that names its `type` has it in its path, so that each kind
of item has a shape of its own: `output[type=message].content[type=output_text].text`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from stackproof.drift import nature

_DEPTH = 24
_KEYS = 64  # more keys are those of a map, not fields
_ITEMS = 256  # of an array that are looked at: its first and its last ones
_PLACES = 4_000
_KIND = re.compile(r"[\w.:/-]{1,60}")
_PLAIN = re.compile(r"[A-Za-z_$][\w$-]*:?")
_SCALARS = {str: "string", bool: "boolean", int: "number", float: "number", type(None): "null"}


@dataclass(slots=True, kw_only=True)
class Place:
    """What was seen at one path. `parent`: the path of the object that it is a field of.

    seen: values. objects: how many of them were objects, against which the fields below it are counted. filled: some
    value was neither null nor empty. values: of a field that tells a kind. is_map: its keys are no names of fields.
    """

    parent: str
    name: str
    seen: int = 0
    objects: int = 0
    types: set[str] = field(default_factory=set)
    values: set[str] = field(default_factory=set)
    filled: bool = False
    is_map: bool = False
    is_item: bool = False
    example: Any = None

    def note(self, value: Any) -> None:
        """Count one value."""
        self.seen += 1
        self.types.add(_type_of(value, self.name))
        if value not in (None, "", [], {}) and not self.filled:
            self.filled, self.example = True, value
        if self.name in nature.TELLING and isinstance(value, str) and _KIND.fullmatch(value):
            self.values.add(value)


@dataclass(slots=True, kw_only=True)
class Shape:
    """Places by path; "" is the value itself. `clipped`: there were more than are kept."""

    places: dict[str, Place] = field(default_factory=dict)
    clipped: bool = False

    def take(self, value: Any) -> None:
        """Add one value: an answer, or an event of a stream."""
        self._take(value, "", "", "", 0)

    def _place(self, path: str, parent: str, name: str, *, is_item: bool = False) -> Place | None:
        place = self.places.get(path)
        if place is None:
            if len(self.places) >= _PLACES:
                self.clipped = True
                return None
            place = self.places[path] = Place(parent=parent, name=name, is_item=is_item)
        return place

    def _take(self, value: Any, path: str, parent: str, name: str, depth: int, *, is_item: bool = False) -> None:
        place = self._place(path, parent, name, is_item=is_item)
        if place is None:
            return
        place.note(value)
        if name in nature.OPAQUE or depth > _DEPTH:
            return
        if isinstance(value, dict):
            self._object(place, value, path, depth)
        elif isinstance(value, list):
            for item in value if len(value) <= _ITEMS else value[: _ITEMS - 56] + value[-56:]:
                below = self._by_kind(f"{path}[]", path, "", item, is_item=True)
                self._take(item, below, path, name if name in nature.VECTORS else "", depth + 1, is_item=True)

    def _object(self, place: Place, value: dict[str, Any], path: str, depth: int) -> None:
        place.objects += 1
        place.is_map = place.is_map or len(value) > _KEYS or any(map(nature.is_made_up, value))
        for key, item in value.items():
            name = "" if place.is_map else key
            below = f"{path}{{}}" if place.is_map else _below(path, key)
            if name not in nature.OPAQUE:
                below = self._by_kind(below, path, name, item, is_item=place.is_map)
            self._take(item, below, path, name, depth + 1, is_item=place.is_map or "[type=" in below[len(path) :])

    def _by_kind(self, path: str, parent: str, name: str, item: Any, *, is_item: bool) -> str:
        """The path of an object of its kind, where it names one; then what is at the path itself is noted too."""
        kind = item.get("type") if isinstance(item, dict) else None
        if not isinstance(kind, str) or not _KIND.fullmatch(kind):
            return path
        whole = self._place(path, parent, name, is_item=is_item)
        kinds = self._place(_below(path, "type"), path, "type")
        if whole is not None and kinds is not None:
            whole.note(item)
            whole.objects += 1
            kinds.note(kind)
        return f"{path.removesuffix('[]')}[type={kind}]"


def _below(path: str, key: str) -> str:
    if key != "{}" and not _PLAIN.fullmatch(key):
        return f"{path}[{key!r}]"
    return f"{path}.{key}" if path else key


def _type_of(value: Any, name: str) -> str:
    if isinstance(value, dict):
        return "object"
    if isinstance(value, list):
        if name in nature.VECTORS and value and all(type(item) in (int, float) for item in value):
            return f"array of {len(value)} numbers"
        return "array"
    if isinstance(value, str) and name in nature.VECTORS:
        return f"base64 of {len(value)} characters"
    return _SCALARS.get(type(value), "string")
