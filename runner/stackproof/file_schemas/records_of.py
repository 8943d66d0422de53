"""What a record knows about a key of its file: type, default, and the meaning that its docstring gives it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from dataclasses import MISSING, dataclass
from enum import Enum, StrEnum
from pathlib import Path
from typing import Any, get_args, get_type_hints

# Keys that the record has under another name.
_CALLED = {
    "stack": "stack_config", "service": "provider_service", "requests": "max_requests",
    "tokens": "max_tokens", "seconds": "max_seconds",
}  # fmt: skip
# A docstring says `key: meaning.`, or `one, other: meaning.`; `in the file: …` begins what is about no field.
_ENTRY = re.compile(r"(?:(?<=[.;] )|(?<=\n)|^)([a-z_]+(?:, [a-z_]+)*): ")


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """What is known of a key. records: the dataclasses inside of it. words: those that it may be. default: None where
    there is none that says anything. is_required: the record cannot be without it.
    """

    meaning: str | None = None
    hint: Any = None
    records: tuple[type, ...] = ()
    words: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    default: Any = None
    is_required: bool = False


def known(record: type | None, key: str) -> Known:
    """What `record` says about `key`; nothing where it is none of its fields and its docstring does not name it."""
    if record is None:
        return Known()
    fields = {each.name: each for each in dataclasses.fields(record)}
    name = key if key in fields else _CALLED.get(key, key)
    said = meanings(record)
    meaning = said.get(key, said.get(name))
    if name not in fields:
        return Known(meaning=meaning)
    hint = get_type_hints(record)[name]
    inside = tuple(_inside(hint))
    enums = [each for each in inside if issubclass(each, StrEnum)]
    words = tuple(word.value for each in enums for word in each)
    is_mapping = "Mapping" in str(getattr(hint, "__origin__", "")) or getattr(hint, "__origin__", None) is dict
    return Known(
        meaning=meaning,
        hint=hint,
        records=tuple(each for each in inside if dataclasses.is_dataclass(each)),
        words=() if is_mapping else words,
        names=words if is_mapping else (),
        default=_default(fields[name]),
        is_required=fields[name].default is MISSING and fields[name].default_factory is MISSING,
    )


def meanings(record: type) -> dict[str, str]:
    """Key -> meaning, as the docstrings of a record and of those that it extends have them."""
    found: dict[str, str] = {}
    fields = {each.name for each in dataclasses.fields(record)}
    for each in reversed(record.__mro__[:-1]):
        text = re.sub(r"\n(?!\n)\s*", " ", re.sub(r"\n\s*\n\s*", "\n", each.__dict__.get("__doc__") or ""))
        for paragraph in text.split("\n"):
            # Behind a semicolon any word may stand with a colon; a field's name begins an entry there too.
            entries = [
                entry
                for entry in _ENTRY.finditer(paragraph)
                if paragraph[: entry.start()].rstrip()[-1:] != ";" or entry[1] in fields
            ]
            ends = [*(following.start() for following in entries[1:]), len(paragraph)]
            for entry, end in zip(entries, ends, strict=False):
                meaning = paragraph[entry.end() : end].strip(" .;")
                found |= dict.fromkeys(entry[1].split(", "), re.sub(r"\bNone(?: there)?: ", "without it: ", meaning))
    return found


def _default(field: dataclasses.Field[Any]) -> Any:
    match field.default:
        case Enum():
            return field.default.value
        case bool() | int() | float() | str():
            return field.default
        case Path():
            return str(field.default)
        case tuple() if field.default:
            return [each.value if isinstance(each, Enum) else each for each in field.default]
        case _:
            return None


def _inside(hint: Any) -> Iterator[type]:
    if isinstance(hint, type) and not get_args(hint):
        yield hint
    for inner in get_args(hint):
        yield from _inside(inner)
