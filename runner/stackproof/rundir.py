"""Where a check that runs on its own leaves its evidence."""

from __future__ import annotations

import secrets
from pathlib import Path

RUNS = Path(".stackproof/runs")


def new_run_id() -> str:
    """Six hexadecimal digits."""
    return secrets.token_hex(3)


def new_run_dir(project: Path) -> Path:
    """Make a new run folder below `project` and return it."""
    while True:
        folder = project / RUNS / new_run_id()
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        return folder
