"""JSON as its standard has it."""

from __future__ import annotations

import json
from typing import Any, NoReturn


def read_json(text: str | bytes) -> Any:
    """The value. Raises ValueError; also for NaN and Infinity, which Python reads, and for too deep a nesting."""
    try:
        return json.loads(text, parse_constant=_no_number)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _no_number(word: str) -> NoReturn:
    # Python reads NaN and Infinity, which JSON does not have and which no client could send on.
    raise ValueError(f"{word} is not a JSON value")
