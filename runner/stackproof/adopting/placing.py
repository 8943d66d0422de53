"""Put drafted files into a project: all of them or none, and none in the place of one that is there."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from stackproof.adopting.drafting import Draft
from stackproof.errors import UsageError

BESIDE = ".new"


@dataclass(frozen=True, kw_only=True, slots=True)
class Placed:
    """Paths relative to the project: of files that were written, and of those that were there and kept."""

    written: tuple[str, ...]
    kept: tuple[str, ...]


def there(root: Path, path: str) -> bool:
    """Whether something has that name, a link that leads nowhere too."""
    return os.path.lexists(root / path)


def says(root: Path, path: str, text: str) -> bool:
    """Whether a file that is there holds `text`."""
    try:
        return (root / path).read_bytes() == text.encode()
    except OSError:
        return False


def place(root: Path, drafts: Iterable[Draft], *, beside: bool) -> Placed:
    """Write what is not there. beside: what is there gets its draft next to it, as NAME.new, where that is free.

    UsageError when one cannot be written; what was written before it is taken away again, folders too.
    """
    made: list[Path] = []
    written: list[str] = []
    kept: list[str] = []
    try:
        for draft in drafts:
            path = draft.path
            if there(root, path):
                kept.append(path)
                path += BESIDE
                if not beside or there(root, path):
                    continue
            _write(root, root / path, draft.text, made)
            written.append(path)
    except BaseException as error:
        _undo(made)
        if isinstance(error, OSError):
            raise UsageError(
                f"{error.filename or root} cannot be written: {error.strerror}; nothing was changed",
                hint="make it writable, or look at the files without writing them: stackproof init --dry-run",
            ) from error
        raise
    return Placed(written=tuple(written), kept=tuple(kept))


def _write(root: Path, target: Path, text: str, made: list[Path]) -> None:
    missing = [folder for folder in target.relative_to(root).parents if not (root / folder).exists()]
    for folder in reversed(missing):
        (root / folder).mkdir()
        made.append(root / folder)
    with target.open("x", encoding="utf-8", newline="\n") as file:
        made.append(target)
        file.write(text)


def _undo(made: list[Path]) -> None:
    for path in reversed(made):
        with contextlib.suppress(OSError):
            if path.is_dir() and not path.is_symlink():
                path.rmdir()
            else:
                path.unlink()
