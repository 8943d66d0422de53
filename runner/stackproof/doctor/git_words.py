"""What Git says of files below a folder. Nothing is written: no lock is taken, no index refreshed."""

from __future__ import annotations

import subprocess
from pathlib import Path

_SECONDS = 3.0


def ask(project: Path, *arguments: str) -> tuple[str, ...] | None:
    """The names that Git prints, separated by NUL; None without Git, a repository, or an answer in 3 s."""
    try:
        done = subprocess.run(
            ["git", "--no-optional-locks", "-C", str(project), "-c", "core.fsmonitor=false", *arguments],
            capture_output=True,
            timeout=_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode != 0:
        return None
    return tuple(name for name in done.stdout.decode(errors="replace").split("\0") if name)


def ignored(project: Path, folder: str) -> tuple[str, ...] | None:
    """Files, and folders as a whole, below `folder` that Git ignores."""
    return ask(project, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory", "--", folder)


def changed(project: Path, folder: str) -> tuple[str, ...] | None:
    """Files below `folder` that differ from the last commit, new ones too."""
    found = ask(project, "status", "--porcelain", "-z", "--untracked-files=all", "--no-renames", "--", folder)
    return None if found is None else tuple(entry[3:] for entry in found)
