"""Turns what a command line, a variable or a TOML file holds into an option's value."""

from __future__ import annotations

import math
from typing import assert_never

from stackproof.errors import UsageError
from stackproof.option_kinds import Kind, Option
from stackproof.suggest import did_you_mean

Value = str | int | float | bool | tuple[str, ...]

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})


def truthy(text: str | None) -> bool:
    """Whether a variable says yes; CI systems set `CI` to 1, true, or their own name."""
    return text is not None and text.strip().casefold() not in _FALSE | {""}


def read_value(option: Option, raw: object, *, where: str) -> Value:
    """Check `raw`, as text or as TOML has it; UsageError is one sentence that begins with `where`."""
    match option.kind:
        case Kind.TEXT:
            return _bare(option, raw) or _text(raw, where=where, wanted="text")
        case Kind.CHOICE:
            return _choice(option, raw, where=where)
        case Kind.WHOLE:
            return _whole(raw, where=where)
        case Kind.SECONDS:
            return _seconds(raw, where=where)
        case Kind.FLAG:
            return _flag(raw, where=where)
        case Kind.TEXTS:
            return _texts(raw, where=where)
    assert_never(option.kind)


def _bare(option: Option, raw: object) -> str | None:
    """An option that may stand without a value does so in a variable too, as a flag does."""
    return option.bare if isinstance(raw, str) and raw.strip().casefold() in _TRUE else None


def _text(raw: object, *, where: str, wanted: str) -> str:
    if not isinstance(raw, str):
        raise UsageError(f"{where}: {raw!r} is not {wanted}")
    if not raw.strip():
        raise UsageError(f"{where}: the value is empty")
    return raw


def _choice(option: Option, raw: object, *, where: str) -> str:
    known = ", ".join(option.choices)
    text = _text(raw, where=where, wanted=f"one of {known}")
    if text not in option.choices:
        raise UsageError(
            f"{where}: {text!r} is not one of {known}{did_you_mean(text, option.choices)}",
            hint=f"write {option.flag} with one of: {known}",
        )
    return text


def _whole(raw: object, *, where: str) -> int:
    number = _number(raw, int)
    if not isinstance(number, int):
        raise UsageError(f"{where}: {raw!r} is not a whole number")
    if number < 1:
        raise UsageError(f"{where}: {number} is not a whole number of at least 1")
    return number


def _seconds(raw: object, *, where: str) -> float:
    number = _number(raw, float)
    if number is None:
        raise UsageError(f"{where}: {raw!r} is not a number of seconds")
    if not math.isfinite(number) or number <= 0:
        raise UsageError(f"{where}: {raw!r} is not a positive number of seconds")
    return number


def _number(raw: object, to: type[int | float]) -> int | float | None:
    match raw:
        case bool():
            return None
        case str():
            try:
                return to(raw)
            except ValueError:
                return None
        case int() | float():
            # A whole number stays one: 1.5 is no answer to "how many".
            return raw if isinstance(raw, to) else (float(raw) if to is float else None)
        case _:
            return None


def _flag(raw: object, *, where: str) -> bool:
    if isinstance(raw, bool):
        return raw
    if isinstance(raw, str) and raw.strip().casefold() in _TRUE:
        return True
    if isinstance(raw, str) and raw.strip().casefold() in _FALSE:
        return False
    raise UsageError(f"{where}: {raw!r} is neither yes (1, true, yes, on) nor no (0, false, no, off)")


def _texts(raw: object, *, where: str) -> tuple[str, ...]:
    if isinstance(raw, str):
        return (_text(raw, where=where, wanted="text"),)
    if isinstance(raw, list | tuple):
        return tuple(_text(item, where=where, wanted="a list of texts") for item in raw)
    raise UsageError(f"{where}: {raw!r} is not a list of texts")
