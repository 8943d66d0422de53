"""When files of run folders were changed, while other runs of the same project tidy up."""

from __future__ import annotations

from pathlib import Path


def changed(path: Path) -> float:
    """Seconds since the epoch; 0.0, so that it counts as the oldest, for what somebody has removed meanwhile."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
