"""Secrets in what is printed: each becomes ***, also in the forms that a program may give it."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

_SHORTEST = 3


class Masks:
    """Values that must not be seen. The longest is replaced first, so that none leaves a rest of another."""

    def __init__(self) -> None:
        self._values: list[str] = []

    def add(self, value: str) -> None:
        """Hide a value, its lines and its usual encodings; not a sign or two, which would hide everything."""
        lines = [value, *value.splitlines()] if len(value.splitlines()) > 1 else [value]
        encoded = base64.b64encode(value.encode()).decode()
        for one in [*lines, encoded, encoded.rstrip("="), json.dumps(value)[1:-1], quote(value, safe="")]:
            if len(one.strip()) >= _SHORTEST and one not in self._values:
                self._values.append(one)
        self._values.sort(key=len, reverse=True)

    def hide(self, text: str) -> str:
        """The text without them."""
        for value in self._values:
            text = text.replace(value, "***")
        return text

    def holds(self, text: str) -> bool:
        """Whether one of them is in the text."""
        return any(value in text for value in self._values)
