"""The recordings: how many, how large, how old."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from stackproof.evidence.read import Evidence
from stackproof.plaintext import counted, size
from stackproof.verdict.page.words import seconds_between

_DAY = 86_400


def of(evidence: Evidence) -> dict[str, Any]:
    """One row a setup. Ages are as of the end of the run: the page has no clock of its own."""
    facts = evidence.recordings
    if facts is None:
        return {"looked": False, "folders": [], "damaged": [], "secrets": [], "files": 0}
    now = evidence.times.stopped
    return {
        "looked": True,
        "files": facts.files,
        "folders": [
            {
                "setup": folder.setup,
                "files": folder.files,
                "size": size(folder.size),
                "oldest": _day(folder.oldest),
                "newest": _day(folder.newest),
                "age": _age(folder.oldest, now),
            }
            for folder in facts.folders
        ],
        "damaged": list(facts.damaged)[:50],
        "secrets": list(facts.secrets)[:50],
    }


def _day(moment: str | None) -> str:
    try:
        return f"{datetime.fromisoformat(moment or ''):%Y-%m-%d}"
    except ValueError:
        return "not said"


def _age(oldest: str | None, now: str | None) -> str:
    seconds = seconds_between(oldest, now)
    return "" if seconds is None else counted(int(seconds // _DAY), "day")
