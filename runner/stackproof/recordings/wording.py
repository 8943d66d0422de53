"""How values and texts of recordings are put on a screen: short, and without what a terminal would act on."""

from __future__ import annotations

import json
import re
from typing import Any

from stackproof.recorder.miss import ABSENT

# Control characters but tab and line feed, marks that reorder text, and halves of surrogate pairs.
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def plain(text: str) -> str:
    """The text with what a terminal would act on written as `\\x1b`; CR LF becomes LF."""
    return _UNSEEN.sub(_escaped, text.replace("\r\n", "\n"))


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def one_line(text: str) -> str:
    """The text on one line."""
    return plain(text).replace("\n", "\\n").replace("\t", "\\t")


def shortened(text: str, width: int) -> str:
    """At most `width` characters, the cut marked by `…`."""
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"


def shortened_left(text: str, width: int) -> str:
    """As `shortened`, but the end stays: of a test's name it is the part that tells it from its neighbours."""
    return text if len(text) <= width else "…" + text[len(text) - width + 1 :] if width > 1 else text[:width]


def value(item: Any, width: int = 60) -> str:
    """A JSON value as one short line; `nothing` for one that is absent."""
    text = repr(item) if item is ABSENT else json.dumps(item, ensure_ascii=False)
    return shortened(one_line(text), width)


def size(count: int) -> str:
    """A number of bytes for a person: `812 B`, `1.2 kB`, `3.4 MB`."""
    if count < 1000:
        return f"{count} B"
    number, unit = count / 1000, "kB"
    for bigger in ("MB", "GB"):
        if number < 1000:
            break
        number, unit = number / 1000, bigger
    return f"{number:.1f} {unit}"


def counted(number: int, what: str, many: str | None = None) -> str:
    """`1 file`, `2 files`, `1,000 files`."""
    return f"{number:,} {what if number == 1 else many or what + 's'}"


def json_text(item: Any, indent: int | None = 2) -> str:
    """JSON for standard output; half of a surrogate pair stays an escape, as it has no UTF-8."""
    text = json.dumps(item, indent=indent, ensure_ascii=False, default=str)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
