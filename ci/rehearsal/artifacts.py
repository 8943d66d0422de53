"""Artifacts: what a job of a run keeps and another one takes, by the rules of GitHub's service.

Forbidden signs, hidden files and the artifact's root are those of actions/upload-artifact; where files come out again,
those of actions/download-artifact, at the versions of 2026.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePath

_IN_PATHS = '":<>|*?\r\n'
_IN_NAMES = _IN_PATHS + "\\/"
_MAGIC = re.compile(r"[*?\[]")


class ArtifactError(Exception):
    """The service would refuse it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Selected:
    """Files to keep, with the folder that their paths are counted from."""

    files: tuple[Path, ...]
    root: Path


@dataclass(frozen=True, kw_only=True, slots=True)
class Store:
    """The artifacts of all runs. folder: <run>/<name>/<files>."""

    folder: Path

    def names(self, run: int) -> list[str]:
        """The artifacts of a run."""
        folder = self.folder / str(run)
        return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []

    def keep(self, run: int, name: str, selected: Selected, *, overwrite: bool) -> None:
        """Store files under a name. Raises ArtifactError."""
        _refuse(name, _IN_NAMES, "the artifact name")
        target = self.folder / str(run) / name
        if target.exists():
            if not overwrite:
                raise ArtifactError(f"an artifact with the name {name!r} is there already: 409")
            shutil.rmtree(target)
        paths = [(path, path.relative_to(selected.root)) for path in selected.files]
        for _, path in paths:
            _refuse(path.as_posix(), _IN_PATHS, "the path")
        for source, path in paths:
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            # An archive keeps content; who may execute a file is not in it.
            shutil.copyfile(source, target / path)

    def take(self, run: int, name: str, to: Path) -> None:
        """Lay an artifact's files out below a folder. Raises ArtifactError."""
        if name not in self.names(run):
            raise ArtifactError(
                f"the artifact {name!r} was not found; there are: {', '.join(self.names(run)) or 'none'}"
            )
        shutil.copytree(self.folder / str(run) / name, to, dirs_exist_ok=True)

    def take_many(self, run: int, pattern: str, to: Path, *, merge: bool) -> list[str]:
        """Lay out every artifact that matches: each in a folder of its name, but a single one without it."""
        names = [name for name in self.names(run) if fnmatchcase(name, pattern or "*")]
        for name in names:
            self.take(run, name, to if merge or len(names) == 1 else to / name)
        return names


def select(patterns: str, workspace: Path, *, hidden: bool) -> Selected:
    """The files that lines of patterns name: folders with all in them, `!` takes away."""
    lines = [line.strip() for line in patterns.splitlines()]
    wanted = [line for line in lines if line and not line.startswith(("!", "#"))]
    unwanted = [_absolute(line[1:], workspace) for line in lines if line.startswith("!")]
    starts = _starts(_absolute(line, workspace) for line in wanted)
    files: dict[Path, None] = {}
    for line in wanted:
        pattern = _absolute(line, workspace)
        for path in _walk(_start(pattern), hidden=hidden):
            if _matches(path, pattern) and not any(_matches(path, one) for one in unwanted):
                files[path] = None
    found = tuple(sorted(files))
    if len(starts) > 1:
        return Selected(files=found, root=Path(os.path.commonpath(starts)))
    root = starts[0] if starts else workspace
    return Selected(files=found, root=root.parent if found == (root,) else root)


def _absolute(pattern: str, workspace: Path) -> str:
    return os.path.normpath(workspace / pattern)


def _start(pattern: str) -> Path:
    """The part of a pattern before its first sign for anything."""
    kept: list[str] = []
    for part in PurePath(pattern).parts:
        if _MAGIC.search(part):
            break
        kept.append(part)
    return Path(*kept)


def _starts(patterns: Iterable[str]) -> Sequence[Path]:
    """Without those that lie below another one, which is searched anyway."""
    starts = list(dict.fromkeys(_start(pattern) for pattern in patterns))
    return [one for one in starts if not any(other in one.parents for other in starts)]


def _walk(start: Path, *, hidden: bool) -> Iterator[Path]:
    # The name of the start counts too: what is asked for by a hidden name is left out all the same.
    if not start.exists() or (not hidden and start.name.startswith(".")):
        return
    if start.is_dir():
        for path in sorted(start.iterdir()):
            yield from _walk(path, hidden=hidden)
    else:
        yield start


def _matches(path: Path, pattern: str) -> bool:
    """Whether a file is named by a pattern, or lies in a folder that is."""
    wanted = PurePath(pattern).parts
    return any(_parts_match(one.parts, wanted) for one in (path, *path.parents))


def _parts_match(parts: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    if not wanted:
        return not parts
    if wanted[0] == "**":
        return any(_parts_match(parts[skip:], wanted[1:]) for skip in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], wanted[0]) and _parts_match(parts[1:], wanted[1:])


def _refuse(text: str, signs: str, what: str) -> None:
    for sign in signs:
        if sign in text:
            raise ArtifactError(f"{what} {text!r} has the sign {sign!r}, which the service refuses")
    if not text:
        raise ArtifactError(f"{what} is empty")
