"""Watches readers of YAML files at work: which keys they allow in which place, and as what they ask for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Any

from stackproof.catalog.yaml_source import LinedDict, Section

# A place in a file: the keys that lead there, `*` for any name and `[]` for an item of a list.
Place = tuple[str, ...]
ANY, ITEM = "*", "[]"


class Asked(StrEnum):
    """As what a value was asked for: the methods of `Section` that give values."""

    TEXT = "text"
    REQUIRED_TEXT = "required_text"
    TEXTS = "texts"
    TEXT_MAP = "text_map"
    INTEGER = "integer"
    SECONDS = "seconds"
    BOOLEAN = "boolean"
    MAPPINGS = "mappings"
    SECTION = "section"


@dataclass(kw_only=True, slots=True)
class Seen:
    """One mapping of a file. keys: those that are allowed, in the reader's order; none where its keys are names.

    asked: key -> as what. least: key -> the smallest whole number. defaults: key -> what a flag was without it. named:
    each of its keys is a name of somebody's choice, and its value a mapping.
    """

    keys: list[str] = field(default_factory=list)
    asked: dict[str, set[Asked]] = field(default_factory=dict)
    least: dict[str, int] = field(default_factory=dict)
    defaults: dict[str, set[bool]] = field(default_factory=dict)
    named: bool = False


class Watch:
    """What the readers have asked of files, by place; a place begins with the file's name."""

    def __init__(self) -> None:
        self.seen: dict[Place, Seen] = {}
        # Mappings are told apart by who they are; holding them keeps their ids theirs.
        self._places: dict[int, tuple[LinedDict, Place]] = {}

    def at(self, section: Section) -> Seen:
        """What was seen of this mapping so far. One that is new is a file's outermost."""
        if id(section.data) not in self._places:
            self._enter(section.data, (Path(section.shown).name,))
        return self.seen.setdefault(self._general(self._places[id(section.data)][1]), Seen())

    def _general(self, place: Place) -> Place:
        """The place with `*` for names that somebody chose."""
        made: Place = ()
        for part in place:
            named = made in self.seen and self.seen[made].named
            made = (*made, ANY if named and part != ITEM else part)
        return made

    def _enter(self, value: object, place: Place) -> None:
        match value:
            case LinedDict():
                self._places[id(value)] = (value, place)
                for key, inner in value.items():
                    self._enter(inner, (*place, key))
            case list():
                for inner in value:
                    self._enter(inner, (*place, ITEM))
            case _:
                pass  # no mapping, and none inside of it


@contextmanager
def watching() -> Iterator[Watch]:
    """Have all that is asked of sections seen meanwhile. For one thread, and outside of runs."""
    watch = Watch()
    originals = {name: getattr(Section, name) for name in (*(asked.value for asked in Asked), "only", "sections")}
    try:
        for name, original in originals.items():
            setattr(Section, name, _watched(watch, name, original))
        yield watch
    finally:
        for name, original in originals.items():
            setattr(Section, name, original)


def _watched(watch: Watch, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def method(self: Section, *given: Any, **options: Any) -> Any:
        seen = watch.at(self)
        match name:
            case "only":
                seen.keys += [key for key in given if key not in seen.keys]
            case "sections":
                seen.named = True
            case _:
                seen.asked.setdefault(given[0], set()).add(Asked(name))
                if "minimum" in options:
                    seen.least[given[0]] = options["minimum"]
                if "default" in options:
                    seen.defaults.setdefault(given[0], set()).add(options["default"])
        return original(self, *given, **options)

    return method
