"""Which commit the files on disk are, as far as Git can say, or whoever packed them without their repository."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from stackproof.evidence import jsonfile

PACKED = ".stackproof-source.json"
"""What a project in an image has in the place of its repository: `schema`, `commit`, `dirty`, as when it was packed."""
_SCHEMA = 1
_DEADLINE = 20.0  # seconds


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceState:
    """`commit` is the full hash, None without Git or before the first commit.

    `dirty`: something differs from that commit, files that are neither committed nor ignored count too. Without a
    commit there is nothing that files could differ from: False. `changes`: which files and folders differ, as Git names
    them; it may be unknown, and two states are the same without it.
    """

    commit: str | None = None
    dirty: bool = False
    changes: tuple[str, ...] = field(default=(), compare=False)


def state(project: Path) -> SourceState:
    """Ask Git about `project`; no Git, no repository or no answer within 20 s make the commit None.

    Without a repository, what lies in PACKED counts, for what that is worth: nobody signs it.
    """
    commit = _git(project, "rev-parse", "--verify", "--quiet", "HEAD")
    if commit is None or not commit.strip():
        return SourceState() if (project / ".git").exists() else _packed(project)
    changes = _git(project, "status", "--porcelain", "--untracked-files=normal", "--", ".")
    # When Git knows the commit but cannot compare, "clean" would be a guess.
    names = tuple(line[3:] for line in (changes or "").splitlines())
    return SourceState(commit=commit.strip(), dirty=changes is None or bool(names), changes=names)


def packed(found: SourceState) -> bytes:
    """The content of PACKED for files of that state."""
    return json.dumps({"schema": _SCHEMA, "commit": found.commit, "dirty": found.dirty}).encode()


def _packed(project: Path) -> SourceState:
    data = jsonfile.read(project / PACKED)
    if data is None or data.get("schema") != _SCHEMA:
        return SourceState()
    commit = jsonfile.text(data, "commit")
    return SourceState(commit=commit, dirty=data.get("dirty") is not False) if commit else SourceState()


def tracked(project: Path) -> tuple[Path, ...] | None:
    """The files below `project` that Git keeps, and that are there; None where Git keeps nothing of it."""
    names = _git(project, "ls-files", "-z", "--cached", "--", ".")
    if not names:
        return None
    found = (project / name for name in sorted({*names.split("\0")} - {""}))
    return tuple(path for path in found if path.is_symlink() or path.is_file())


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
