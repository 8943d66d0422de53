"""Where a check that runs on its own leaves its evidence."""

from __future__ import annotations

import secrets
from pathlib import Path

from stackproof.plan import RUNS
from stackproof.run import run_folder


def new_run_id(project: Path | None = None) -> str:
    """Six hexadecimal digits that no kept run of the project (default: the working directory) has."""
    while True:
        run_id = secrets.token_hex(3)
        if not ((project or Path.cwd()) / RUNS / run_id).exists():
            return run_id


def new_run_dir(project: Path) -> Path:
    """Make a run folder below `project` that nobody owns any longer, drop the oldest ones, and return it."""
    folder = project.absolute() / RUNS / new_run_id(project)
    run_folder.make(folder)
    run_folder.prune(folder.parent)
    run_folder.release(folder)
    return folder
