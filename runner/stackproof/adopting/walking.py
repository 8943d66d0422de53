"""The files of a repository that are its own: bounded, in one order, through no link, past packages and caches."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_NOT_OURS = frozenset(
    {
        "__pycache__", "__pypackages__", "build", "dist", "node_modules", "recordings", "site-packages", "target",
        "vendor", "venv", "virtualenv",
    }
)  # fmt: skip
FOLDERS, FILES = 4000, 2000


@dataclass(frozen=True, kw_only=True, slots=True)
class Walked:
    """paths: relative, those nearest to the root first. cut: there were more than is looked at. shut: not readable."""

    paths: tuple[str, ...]
    cut: bool
    shut: tuple[str, ...]


def walk(root: Path) -> Walked:
    """All .py files below `root`, without those of environments, packages, builds and hidden folders."""
    level = [""]
    paths: list[str] = []
    shut: list[str] = []
    folders, cut = 0, False
    while level and not cut:
        below: list[str] = []
        for folder in level:
            folders += 1
            if folders > FOLDERS or len(paths) > FILES:
                cut = True
                break
            try:
                entries = sorted(os.scandir(root / folder), key=lambda entry: entry.name)
            except OSError:
                shut.append(folder or ".")
                continue
            paths += [_join(folder, entry.name) for entry in entries if _is_source(entry)]
            below += _folders(folder, entries)
        level = below
    return Walked(paths=tuple(paths[:FILES]), cut=cut or len(paths) > FILES, shut=tuple(shut))


def _folders(folder: str, entries: list[os.DirEntry[str]]) -> Iterator[str]:
    if any(entry.name == "pyvenv.cfg" for entry in entries) and folder:
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.name in _NOT_OURS or entry.name.endswith(".egg-info"):
            continue
        if entry.is_dir(follow_symlinks=False) and not os.path.exists(os.path.join(entry.path, "pyvenv.cfg")):  # noqa: PTH110, PTH118
            yield _join(folder, entry.name)


def _is_source(entry: os.DirEntry[str]) -> bool:
    return entry.name.endswith(".py") and entry.is_file(follow_symlinks=False)


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
