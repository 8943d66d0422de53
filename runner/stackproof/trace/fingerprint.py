"""What is compared of a request, as plain JSON, and its digest."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from stackproof.recorder.canonical import DEPTH_LIMIT, canonical
from stackproof.trace.client import ModelRequest
from stackproof.trace.errors import UnfitValueError
from stackproof.trace.events import JsonObject

FIELDS = ("instructions", "history", "tools", "step_sequence", "tool_generation")
# An exchange is a few levels around a request, and must be readable again.
_DEEPEST = DEPTH_LIMIT - 10
_LONGEST = 14_000  # bits: Python reads and writes no more than 4,300 digits


def form_of(request: ModelRequest) -> JsonObject:
    """The compared part of a request, copied: who changes an item later changes no trace. UnfitValueError."""
    return {name: plain(getattr(request, name), name) for name in FIELDS}


def fingerprint_of(form: JsonObject) -> str:
    """SHA-256, 64 hexadecimal digits, over the canonical JSON of a form: keys sorted, no spaces, ASCII.

    There is nothing random in it: no id of a step or turn, no date.
    """
    return sha256(canonical(form).encode("ascii")).hexdigest()


def plain(value: Any, where: str, depth: int = 0) -> Any:
    """A copy made of JSON's own kinds. UnfitValueError names the place of what is none, or lies too deep."""
    if depth > _DEEPEST:
        raise UnfitValueError(f"{where[:60]}… lies more than {_DEEPEST} levels deep", hint="send flatter items")
    match value:
        case None | bool() | str():
            found: Any = value
        case int():
            if value.bit_length() > _LONGEST:
                raise UnfitValueError(f"{where} is a number too long for JSON readers", hint="send it as a text")
            found = value
        case float():
            if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124 - NaN differs from itself
                raise UnfitValueError(f"{where} is {value}, which JSON has no number for", hint="send a finite number")
            found = value
        case Mapping():
            for key in value:
                if not isinstance(key, str):
                    raise UnfitValueError(f"{where} has the key {key!r}, which is no text", hint="use texts as keys")
            found = {key: plain(item, f"{where}.{key}", depth + 1) for key, item in value.items()}
        case list() | tuple():
            found = [plain(item, f"{where}[{index}]", depth + 1) for index, item in enumerate(value)]
        case _:
            raise UnfitValueError(
                f"{where} is a {type(value).__name__}, which JSON cannot say", hint="hand in plain JSON objects"
            )
    return found
