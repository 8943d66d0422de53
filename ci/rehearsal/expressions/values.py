"""Values of the expression language and what becomes of them where another kind is wanted."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

Value: TypeAlias = Any  # None, bool, int or float, str, a list or a dict with string keys: what JSON has

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_BASES = {"0x": 16, "0o": 8}
_DIGITS = 15


class Filtered(list[Value]):
    """What `.*` gives: what follows is asked of each member, and members that lack it drop out."""


def is_true(value: Value) -> bool:
    """Whether a condition holds: false, 0, NaN, '' and null do not."""
    if isinstance(value, float) and math.isnan(value):
        return False
    return isinstance(value, list | dict) or bool(value)


def text(value: Value) -> str:
    """What stands in a string for it; lists and objects are only named."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case int() | float():
            return _number_text(float(value))
        case str():
            return str(value)
        case list():
            return "Array"
        case _:
            return "Object"


def number(value: Value) -> float:
    """What it is in a comparison of numbers; NaN where it is none."""
    match value:
        case None:
            return 0.0
        case bool() | int() | float():
            return float(value)
        case str():
            return _parsed(value.strip())
        case _:
            return math.nan


def equal(left: Value, right: Value) -> bool:
    """Loose equality: strings without case, unlike kinds as numbers, lists and objects only as the same one."""
    if isinstance(left, list | dict) or isinstance(right, list | dict):
        return left is right
    if left is None and right is None:
        return True
    if isinstance(left, str) and isinstance(right, str):
        return folded(left) == folded(right)
    return number(left) == number(right)


def less(left: Value, right: Value) -> bool:
    """Whether left comes before right; false where either is neither a number nor a string."""
    if isinstance(left, list | dict) or isinstance(right, list | dict):
        return False
    if isinstance(left, str) and isinstance(right, str):
        return folded(left) < folded(right)
    return number(left) < number(right)


def member(value: Value, name: str) -> tuple[bool, Value]:
    """A property of an object, its name without case: whether there is one, and it."""
    if not isinstance(value, Mapping):
        return False, None
    if name in value:
        return True, value[name]
    wanted = folded(name)
    return next(((True, item) for key, item in value.items() if folded(key) == wanted), (False, None))


def folded(word: str) -> str:
    """Without case, letter by letter: the runner knows no letter that becomes two, and a dotless i is no I."""
    return "".join(big if len(big := sign.upper()) == 1 and sign != "ı" else sign for sign in word)


def at(value: Value, index: Value) -> tuple[bool, Value]:
    """`value[index]`: a property by name, or a member by number, rounded down."""
    if isinstance(value, Mapping):
        return (False, None) if isinstance(index, list | dict) else member(value, text(index))
    if not isinstance(value, Sequence) or isinstance(value, str):
        return False, None
    place = number(index)
    if not math.isfinite(place) or place < 0 or math.floor(place) >= len(value):
        return False, None
    return True, value[math.floor(place)]


def as_json(value: Value) -> str:
    """What toJSON prints: two spaces a level, text as it is."""
    return json.dumps(_plain(value), indent=2, ensure_ascii=False)


def _plain(value: Value) -> Value:
    match value:
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case list():
            return [_plain(item) for item in value]
        case bool() | None | str():
            return value
        case _:
            whole = float(value)
            return int(whole) if whole.is_integer() else whole


def _parsed(word: str) -> float:
    if not word:
        return 0.0
    if word in ("Infinity", "+Infinity", "-Infinity"):
        return float(word)
    base = _BASES.get(word[:2])
    if base is not None:
        try:
            return float(int(word[2:], base))
        except ValueError:
            return math.nan
    return float(word) if _NUMBER.fullmatch(word) else math.nan


def _number_text(value: float) -> str:
    """Fifteen digits at most, as the runner prints them."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    printed = format(value + 0.0, f".{_DIGITS}g")
    return "0" if printed == "-0" else printed.replace("e", "E")
