"""The shape of JSON values: which fields there are, of which types, and where.

A path is written as `choices[].message.content`; an object that names its `type` has it in its path, so that each kind
of item has a shape of its own: `output[type=message].content[type=output_text].text`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from stackproof.drift import nature

_DEPTH = 24
_KEYS = 64  # more keys are those of a map, not fields
_ITEMS = 256  # of an array that are looked at: its first and its last ones
_PLACES = 4_000
_KIND = re.compile(r"[\w.:/-]{1,60}")
_PLAIN = re.compile(r"[A-Za-z_$][\w$-]*:?")
_SCALARS = {str: "string", bool: "boolean", int: "number", float: "number", type(None): "null"}


class Sort(Enum):
    """What a path leads to: a field of an object, any item of an array or a map, an object that names its kind."""

    FIELD = auto()
    ITEM = auto()
    KIND = auto()


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
    sort: Sort = Sort.FIELD
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
        self._take(value, "", "", "", 0, sort=Sort.FIELD)

    def _place(self, path: str, parent: str, name: str, sort: Sort) -> Place | None:
        place = self.places.get(path)
        if place is None:
            if len(self.places) >= _PLACES:
                self.clipped = True
                return None
            place = self.places[path] = Place(parent=parent, name=name, sort=sort)
        return place

    def _take(self, value: Any, path: str, parent: str, name: str, depth: int, *, sort: Sort) -> None:
        place = self._place(path, parent, name, sort)
        if place is None:
            return
        place.note(value)
        if name in nature.OPAQUE or depth > _DEPTH:
            return
        if isinstance(value, dict):
            self._object(place, value, path, depth)
        elif isinstance(value, list):
            for item in value if len(value) <= _ITEMS else value[: _ITEMS - 56] + value[-56:]:
                below, kind = self._by_kind(f"{path}[]", path, "", item, Sort.ITEM)
                self._take(item, below, path, name if name in nature.VECTORS else "", depth + 1, sort=kind)

    def _object(self, place: Place, value: dict[str, Any], path: str, depth: int) -> None:
        place.objects += 1
        made_up = sum(map(nature.is_made_up, value))
        place.is_map = place.is_map or len(value) > _KEYS or 2 * made_up > len(value)
        for key, item in value.items():
            is_field = not place.is_map and not nature.is_made_up(key)
            name, sort = (key, Sort.FIELD) if is_field else ("", Sort.ITEM)
            below = _below(path, key) if is_field else f"{path}{{}}"
            if name not in nature.OPAQUE:
                below, sort = self._by_kind(below, path, name, item, sort)
            self._take(item, below, path, name, depth + 1, sort=sort)

    def _by_kind(self, path: str, parent: str, name: str, item: Any, sort: Sort) -> tuple[str, Sort]:
        """The path of an object of its kind, where it names one; then what is at the path itself is noted too."""
        kind = item.get("type") if isinstance(item, dict) else None
        if not isinstance(kind, str) or not _KIND.fullmatch(kind):
            return path, sort
        whole = self._place(path, parent, name, sort)
        kinds = self._place(_below(path, "type"), path, "type", Sort.FIELD)
        if whole is not None and kinds is not None:
            whole.note(item)
            whole.objects += 1
            kinds.note(kind)
        return f"{path.removesuffix('[]')}[type={kind}]", Sort.KIND


def _below(path: str, key: str) -> str:
    if not _PLAIN.fullmatch(key):
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
