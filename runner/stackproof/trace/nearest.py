"""The words for a request that is not the one that was recorded: where it differs, and which exchange comes nearest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from stackproof.recorder.miss import differences
from stackproof.recordings.wording import counted, one_line, shortened, value
from stackproof.trace.contents import Line
from stackproof.trace.errors import TraceMismatchError
from stackproof.trace.events import JsonObject
from stackproof.trace.fingerprint import fingerprint_of
from stackproof.trace.hiding import alike

_SHOWN = 8  # places that differ
_WIDTH = 60  # characters of a value
_CONTEXT = 20  # characters of what two long texts share that are shown before they part
_COMPARED = 200  # exchanges
Differing = list[tuple[str, Any, Any]]


def mismatch(path: Path, form: JsonObject, index: int, whole: Sequence[Line]) -> TraceMismatchError:
    """The error for a request that came in place of `whole[index]`."""
    expected, sent = whole[index], fingerprint_of(form)
    lines = [
        f"request {index + 1} is not the one that was recorded at {path}, line {expected.number}",
        f"fingerprint recorded {_of(expected)[:16]}…, sent {sent[:16]}…",
    ]
    again = [line.number for line in whole if _of(line) == sent]
    near = _nearest(form, whole, index)
    if again:
        lines.append(f"the same request was recorded at line {again[0]}: the order is another")
    elif near is None:
        lines.append("the file was written without its requests, so where they differ is not known")
    else:
        at, differing = near
        where = "differs" if at is expected else f"the nearest is at line {at.number} and differs"
        lines.append(f"{where} in {counted(len(differing), 'place')}")
        lines.extend(_places(differing))
    return TraceMismatchError(
        "\n  ".join(lines), hint="if the request is meant to have changed, record the conversation anew"
    )


def _of(line: Line) -> str:
    return "" if line.exchange is None else line.exchange.fingerprint


def _nearest(form: JsonObject, whole: Sequence[Line], index: int) -> tuple[Line, Differing] | None:
    """The exchange with the fewest differences; of equals the one that was to come, then the one closest to it."""
    best: tuple[Line, Differing] | None = None
    for line in sorted(whole, key=lambda line: abs(line.number - whole[index].number))[:_COMPARED]:
        if line.exchange is None or line.exchange.request is None:
            continue
        differing = list(differences(line.exchange.request, form))
        if best is None or len(differing) < len(best[1]):
            best = line, differing
    return best


def _places(differing: Differing) -> Iterator[str]:
    for path, recorded, sent in differing[:_SHOWN]:
        yield f"  {shortened(one_line(path), 70)}"
        old, new = recorded, sent
        if isinstance(recorded, str) and isinstance(sent, str):
            old, new = _parted(recorded, sent)
        yield f"    recorded {value(old, _WIDTH)}"
        yield f"    sent     {value(new, _WIDTH)}"
    if len(differing) > _SHOWN:
        yield f"  and {len(differing) - _SHOWN} more"


def _parted(one: str, other: str) -> tuple[str, str]:
    """Two texts from shortly before the place where they part: the beginnings of two long ones look the same."""
    same = alike(one, other)
    if same <= _CONTEXT * 2:
        return one, other
    start = same - _CONTEXT
    return "…" + one[start:], "…" + other[start:]
