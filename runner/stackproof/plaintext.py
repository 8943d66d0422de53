"""Text from tests, logs and files for people: nothing that a terminal or a page would act on, and short."""

from __future__ import annotations

import math
import re

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


def number(value: float) -> str:
    """`60`, `0.5`, `1234567`: all of its digits, as it can be typed again; a whole number without its `.0`."""
    return str(int(value)) if math.isfinite(value) and value == int(value) else str(value)


def duration(seconds: float) -> str:
    """`12.4 ms`, `181 ms`, `3.4 s`, `2 min 41 s`."""
    if not math.isfinite(seconds):
        return "unknown"
    if seconds < 0.09995:
        return f"{seconds * 1000:.1f} ms"
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    return f"{round(seconds) // 60} min {round(seconds) % 60} s"
