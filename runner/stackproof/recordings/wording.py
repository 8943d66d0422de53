"""How values and texts of recordings are put on a screen: short, and without what a terminal would act on."""

from __future__ import annotations

import json
from typing import Any

from stackproof.plaintext import counted, one_line, plain, shortened, size
from stackproof.recorder.miss import ABSENT

__all__ = ["counted", "json_text", "one_line", "plain", "shortened", "shortened_left", "size", "value"]


def shortened_left(text: str, width: int) -> str:
    """As `shortened`, but the end stays: of a test's name it is the part that tells it from its neighbours."""
    return text if len(text) <= width else "…" + text[len(text) - width + 1 :] if width > 1 else text[:width]


def value(item: Any, width: int = 60) -> str:
    """A JSON value as one short line; `nothing` for one that is absent."""
    text = repr(item) if item is ABSENT else json.dumps(item, ensure_ascii=False)
    return shortened(one_line(text), width)


def json_text(item: Any, indent: int | None = 2) -> str:
    """JSON for standard output; half of a surrogate pair stays an escape, as it has no UTF-8."""
    text = json.dumps(item, indent=indent, ensure_ascii=False, default=str)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
