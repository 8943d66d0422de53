"""How old a recording is, by what it says itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any


class Undated(Enum):
    """Why a recording has no age."""

    SYNTHETIC = "synthetic"
    NO_DATE = "without a date"


@dataclass(frozen=True, kw_only=True, slots=True)
class Age:
    """When it was recorded, and how many whole days ago that is."""

    recorded_at: datetime
    days: int


def age(content: Mapping[str, Any], now: datetime) -> Age | Undated:
    """The age of a recording at `now` (aware). No provider stands behind a synthetic answer, so it does not age."""
    provenance = content.get("provenance")
    facts = provenance if isinstance(provenance, dict) else {}
    if facts.get("synthetic") is True:
        return Undated.SYNTHETIC
    try:
        at = datetime.fromisoformat(str(facts.get("recorded_at")))
    except ValueError:
        return Undated.NO_DATE
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return Age(recorded_at=at, days=(now - at).days)
