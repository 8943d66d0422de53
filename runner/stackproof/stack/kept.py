"""Recordings that were kept in a container which does not see their folder: they come to this side, all or none."""

from __future__ import annotations

import hashlib
from pathlib import Path

from stackproof.stack.luggage import Folder


class Kept:
    """What tests in a container made of the recordings that went in."""

    def __init__(self, sent: Folder) -> None:
        self._root = sent.path
        self._sent = {str(path.relative_to(sent.path)): _digest(path.read_bytes()) for path in sent.files}
        self._left: set[str] = set()
        self._changed: dict[str, bytes] = {}

    @property
    def folder(self) -> Path:
        """Their folder, in the container too."""
        return self._root

    def left(self, name: str, data: bytes) -> None:
        """A file as it was left, as `luggage.unpack` tells it."""
        last = Path(name).name
        if last.startswith(".") or last.endswith(".tmp"):
            return
        self._left.add(name)
        if self._sent.get(name) != _digest(data):
            self._changed[name] = data

    def settle(self) -> None:
        """Once all of them are told: write what is new or another, and remove what was removed there.

        Others' files stay as they are; OSError where one cannot be written.
        """
        for name, data in self._changed.items():
            path = self._path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            partial = path.with_name(f".{path.name}.tmp")
            partial.write_bytes(data)
            partial.replace(path)
        for name in self._sent.keys() - self._left:
            self._path(name).unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        path = self._root / name
        if not path.resolve().is_relative_to(self._root.resolve()):
            raise OSError(f"{name} leads out of the folder of recordings")
        return path


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()
