"""What a claim expects and what a test observed, as JSON values that are compared exactly."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

_SHOWN = 200  # characters of a value in a difference


class NoJsonError(ValueError):
    """A value that JSON cannot hold; the message says where it is and what it is."""


def as_json(value: object, where: str) -> Json:
    """The same value as JSON: tuples become lists, members of an enum their value. NoJsonError for all else."""
    match value:
        case Enum():
            return as_json(value.value, where)
        case None | bool() | str() | int():
            return value
        case float() if math.isfinite(value):
            return value
        case list() | tuple():
            return [as_json(item, f"{where}[{number}]") for number, item in enumerate(value)]
        case Mapping():
            return {_key(key, where): as_json(item, f"{where}.{key}") for key, item in value.items()}
        case _:
            raise NoJsonError(f"{where} is no JSON value: {short(repr(value))}")


def same(one: Json, other: Json) -> bool:
    """Whether two values are the same JSON: 1 is neither 1.0 nor true, and the order of keys does not matter."""
    return _text(one) == _text(other)


def differences(expected: Mapping[str, Json], observed: Mapping[str, Json], where: str) -> Iterator[str]:
    """A sentence for each place where two objects differ, named by its path below `where`."""
    for key in [*expected, *(key for key in observed if key not in expected)]:
        path = f"{where}.{key}"
        if key not in observed:
            yield f"{path}: expected {shown(expected[key])}, not observed"
        elif key not in expected:
            yield f"{path}: not expected, observed {shown(observed[key])}"
        else:
            yield from _differ(expected[key], observed[key], path)


def shown(value: Json) -> str:
    """A value on one line, its middle left out where it is long."""
    return short(json.dumps(value, ensure_ascii=False))


def _differ(expected: Json, observed: Json, path: str) -> Iterator[str]:
    match expected, observed:
        case dict(), dict():
            yield from differences(expected, observed, path)
        case list(), list() if len(expected) == len(observed):
            for number, (one, other) in enumerate(zip(expected, observed, strict=True)):
                yield from _differ(one, other, f"{path}[{number}]")
        case _ if not same(expected, observed):
            yield f"{path}: expected {shown(expected)}, observed {shown(observed)}"
        case _:
            return


def _text(value: Json) -> str:
    return json.dumps(value, sort_keys=True)


def _key(key: object, where: str) -> str:
    if not isinstance(key, str):
        raise NoJsonError(f"{where} has a key that is no text: {short(repr(key))}")
    return str(key)


def short(text: str, length: int = _SHOWN) -> str:
    """A text without its middle where it is longer than `length`."""
    return text if len(text) <= length else f"{text[: length // 2]} … {text[-length // 2 :]}"
