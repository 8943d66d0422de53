"""Words and names that several parts of the page share."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime

from stackproof.plaintext import duration
from stackproof.verdict.records import State


def kind(state: State) -> str:
    """The class of a state in the page's style."""
    match state:
        case State.PASS:
            return "pass"
        case State.NOT_PROVEN:
            return "unproven"
        case State.FAIL:
            return "fail"


def anchor(identity: str) -> str:
    """An element's id: readable, of harmless characters, and one for each rule."""
    readable = re.sub(r"[^A-Za-z0-9]+", "-", identity).strip("-")[:60]
    return f"rule-{readable}-{hashlib.sha256(identity.encode(errors='backslashreplace')).hexdigest()[:6]}"


def seconds_between(first: str | None, last: str | None) -> float | None:
    """None where one of the moments is not known."""
    try:
        return max(0.0, (datetime.fromisoformat(last or "") - datetime.fromisoformat(first or "")).total_seconds())
    except (ValueError, TypeError):
        return None


def lasting(first: str | None, last: str | None) -> str:
    """`2 min 41 s`, or nothing."""
    took = seconds_between(first, last)
    return "" if took is None else duration(took)


def moment(text: str | None) -> str:
    """`2026-12-01 10:22 UTC` of a moment in ISO format; nothing of what is none."""
    try:
        when = datetime.fromisoformat(text or "")
    except ValueError:
        return ""
    aware = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
    return f"{aware.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
