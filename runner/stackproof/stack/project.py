"""What of a project goes into a container that does not see its folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from stackproof.stack.luggage import Folder

# What git keeps, what runs wrote, and what is made anew where it is needed.
_LEFT_OUT = (".git", ".hypothesis", ".stackproof", "__pycache__", "node_modules")
# A virtual environment says of itself that it is one (PEP 405), a cache as bford.info/cachedir has it.
_MARKS = ("pyvenv.cfg", "CACHEDIR.TAG")


def files(root: Path, *, without: Path) -> Folder:
    """A project, to be read, with `without` (its recordings) and everything that no test needs left out."""
    return Folder(path=root, files=tuple(_files(root, without)), as_mounted=True)


def _files(root: Path, without: Path) -> Iterator[Path]:
    for base, folders, names in os.walk(root):
        found = [Path(base, name) for name in sorted(folders)]
        # A link to a folder is one more name, and is not gone into.
        yield from (path for path in found if path.is_symlink())
        folders[:] = [path.name for path in found if not path.is_symlink() and not _left_out(path, without)]
        for name in sorted(names):
            path = Path(base, name)
            if path.is_symlink() or (path.is_file() and os.access(path, os.R_OK)):
                yield path


def _left_out(folder: Path, without: Path) -> bool:
    return folder.name in _LEFT_OUT or folder == without or any((folder / mark).is_file() for mark in _MARKS)
