"""The provider calls of a cell in words. The facts are those of the event `calls` in `tests.jsonl`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stackproof.faults import told
from stackproof.recorder.mode import Mode

_ALWAYS = {Mode.VERIFY: ("observed", "missed")}
_MEANT = ("replayed", "recorded", "missed", "unused")


def counted(facts: Mapping[str, Any], mode: Mode, *, unused: bool = True, also: tuple[str, ...] = ()) -> str:
    """`12 observed, 0 missed, 2 retries`: what the mode is about, and what else there was.

    unused: whether it is known what nobody asked for. also: kinds that are named where there are any.
    """
    kinds = [kind for kind in _ALWAYS.get(mode, _MEANT) if unused or kind != "unused"]
    kinds += [kind for kind in also if facts.get(kind)]
    parts = [f"{facts.get(kind) or 0} {kind}" for kind in kinds]
    if mode is Mode.VERIFY and (shared := facts.get("replayed")):
        parts.append(f"{shared} answered with what another worker observed")
    if retries := facts.get("retries"):
        parts.append("1 retry" if retries == 1 else f"{retries} retries")
    if injected := facts.get("injected"):
        parts.append(told.counted(injected))
    return ", ".join(parts)
