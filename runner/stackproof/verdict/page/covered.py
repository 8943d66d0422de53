"""Coverage, where it was asked for: the number, and what is not in it. It decides nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stackproof.evidence import coverage

_GAPS = 50


def of(run_dir: Path) -> dict[str, Any]:
    """Empty where nobody asked for it."""
    found = coverage.read(run_dir)
    if found is None:
        return {}
    gaps = found.gaps
    return {
        "total": "" if found.total is None else str(found.total),
        "origin": found.origin,
        "gaps": list(gaps[:_GAPS]),
        "more": max(0, len(gaps) - _GAPS),
    }
