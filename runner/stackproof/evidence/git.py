"""Which commit the files on disk are, as far as Git can say."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_DEADLINE = 20.0  # seconds


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceState:
    """`commit` is the full hash, None without Git or before the first commit.

    `dirty`: something differs from that commit, files that are neither committed nor ignored count too. Without a
    commit there is nothing that files could differ from: False.
    """

    commit: str | None = None
    dirty: bool = False


def state(project: Path) -> SourceState:
    """Ask Git about `project`; no Git, no repository or no answer within 20 s make the commit None."""
    commit = _git(project, "rev-parse", "--verify", "--quiet", "HEAD")
    if commit is None or not commit.strip():
        return SourceState()
    changes = _git(project, "status", "--porcelain", "--untracked-files=normal", "--", ".")
    # When Git knows the commit but cannot compare, "clean" would be a guess.
    return SourceState(commit=commit.strip(), dirty=changes is None or bool(changes.strip()))


def changed(project: Path, base: str, paths: Iterable[Path]) -> tuple[str, ...] | None:
    """Which of `paths` differ from where this branch left `base`; None when Git does not know `base`."""
    names = _git(project, "diff", "--name-only", "--no-ext-diff", f"{base}...HEAD", "--", *map(str, paths))
    return None if names is None else tuple(names.splitlines())


def _git(project: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "--no-optional-locks", "-C", str(project), *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_DEADLINE,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
