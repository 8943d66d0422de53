"""Long arrays of numbers on their way from a recording to the caller: their text is checked, and passed on as it is.

An embedding is a thousand numbers, and to make text of a number anew takes longer than everything else that is done
for a replayed call. A recording has such an array on one line (`recording.dumps`); no JSON string spans lines, so such
a line is an array wherever it stands. Its numbers keep the spelling that they have in the file.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any

from .canonical import NotPlainJson, whole, writer

# Characters: in a shorter text nothing is long enough to be worth the search, and a shorter line is no long array.
_LEAST, _LONG = 4096, 512
_SPACES = {ord(" "): None}
_LINE = re.compile(r'( *(?:"[^"\\]*": )?)(\[[-+0-9.eE, ]+\])(,?)')


class _Numbers:
    """An array that was not taken apart."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


read_plain = whole(json.JSONDecoder(parse_constant=_constant))
# Numbers stay text here, too: whether they are numbers is all that is asked.
_check = whole(json.JSONDecoder(parse_float=str, parse_constant=_constant))


def read(text: str) -> tuple[Any, bool]:
    """A recording's JSON, and whether it has long arrays of numbers; these are for `compact` alone. ValueError."""
    if len(text) < _LEAST or '"events": [' in text:
        return read_plain(text), False  # a short one, or a stream: each event has a line, and they are many
    found: list[_Numbers] = []
    lines = text.split("\n")
    for index, line in enumerate(lines):
        if len(line) > _LONG and line.endswith(("]", "],")) and (match := _LINE.fullmatch(line)):
            before, array, after = match.groups()
            _check(array)
            found.append(_Numbers(array.translate(_SPACES)))
            lines[index] = f"{before}NaN{after}"  # which JSON does not have, so that a reader asks what it is
    if not found:
        return read_plain(text), False
    numbers: Iterator[_Numbers] = iter(found)

    def put_in(name: str) -> Any:
        # In their order. One that asks too much is in the file itself, wherever it stands.
        item = next(numbers, None)
        return _constant(name) if item is None or name != "NaN" else item

    return whole(json.JSONDecoder(parse_constant=put_in))("\n".join(lines)), True


def compact(value: Any) -> bytes:
    """JSON for the wire, as `canonical.compact` writes it, of a value that `read` gave."""
    texts: list[str] = []
    # No string of the value is this one: it is made up after the value was.
    mark = os.urandom(12).hex()

    def note(item: Any) -> str:
        if not isinstance(item, _Numbers):
            raise NotPlainJson(f"{type(item).__name__} is not JSON")
        texts.append(item.text)
        return mark

    pieces = writer(ascii_only=False, default=note)(value).split(f'"{mark}"')
    parts = [pieces[0], *(part for pair in zip(texts, pieces[1:], strict=True) for part in pair)]
    return "".join(parts).encode("utf-8", "backslashreplace")
