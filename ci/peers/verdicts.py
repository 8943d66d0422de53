"""What became of one call under one recorder, judged by what the same call gave without any."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeGuard

_SPACED = re.compile(r"([:,]) (?=[\"\[{\d])")
_MADE_UP = re.compile(r'("(?:id|created)":)(?:"[^"]*"|\d+)')
CASES = ("plain", "stream", "400", "429")


class Outcome(StrEnum):
    """Of one call."""

    WORKS = "works"
    REWRITTEN = "rewritten"  # the same JSON, not the same bytes
    WRONG = "wrong"
    ERROR = "error"


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """`why` is empty where it works."""

    outcome: Outcome
    why: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """`calls` reached the server and `kept` of them are in the recording; pieces are those that a stream came in."""

    record: Judged
    replay: Judged | None
    calls: int
    kept: int | None
    pieces: tuple[int | None, int | None, int | None]


def judge(recorded: dict[str, Any], replayed: dict[str, Any] | None, expected: dict[str, Any]) -> Cell:
    """Compare what a worker said of recording, and of replay, with what it said without a recorder."""
    again = replayed or {}
    return Cell(
        record=_judged(recorded, expected),
        replay=None if replayed is None else _judged(replayed, expected),
        calls=recorded["asked"],
        kept=recorded.get("kept"),
        pieces=(expected.get("pieces"), recorded.get("pieces"), again.get("pieces")),
    )


def _judged(got: dict[str, Any], expected: dict[str, Any]) -> Judged:
    value, wanted = got.get("value"), expected.get("value")
    if got.get("broken"):
        return Judged(outcome=Outcome.ERROR, why=_name(got["broken"]))
    if value == wanted:
        return Judged(outcome=Outcome.WORKS)
    if _without_spacing(value) == _without_spacing(wanted):
        return Judged(outcome=Outcome.REWRITTEN)
    if _is_raised(value) and not (_is_raised(wanted) and value["raised"] == wanted["raised"]):
        instead = f" instead of {_name(wanted)}" if _is_raised(wanted) else ""
        return Judged(outcome=Outcome.ERROR, why=f"{_name(value)}{instead}")
    return Judged(outcome=Outcome.WRONG, why=_difference(value, wanted))


def _difference(value: object, wanted: object) -> str:
    if _is_raised(value) and _is_raised(wanted):
        return f"{_name(value)} with another {' and '.join(key for key in wanted if value[key] != wanted[key])}"
    if _is_raised(wanted):
        return f"no {_name(wanted)}"
    if isinstance(value, list) and isinstance(wanted, list) and len(value) != len(wanted):
        return f"{len(value)} of {len(wanted)} events"
    if isinstance(value, str) and isinstance(wanted, str):
        return f"{len(value)} of {len(wanted)} bytes"
    return "another answer"


def _without_spacing(value: Any) -> Any:
    """Texts that hold JSON, without its spaces and with any id and date."""
    if isinstance(value, dict):
        return {key: _without_spacing(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_spacing(item) for item in value]
    if isinstance(value, str):
        return _MADE_UP.sub(r'\1""', _SPACED.sub(r"\1", value))
    return value


def _is_raised(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict) and "raised" in value


def _name(error: dict[str, Any]) -> str:
    return str(error["raised"]).rpartition(".")[2]
