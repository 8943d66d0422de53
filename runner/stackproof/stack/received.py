"""Puts what a stack wrote in a container elsewhere into the run's folder on this side, each byte once."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from stackproof.evidence import running

_NOT_OURS = ("guest", "serving", "inflight", "ended", "scopes", "claims", "elsewhere")


class Received:
    """What has come so far of one container. Names are relative to the folder, as in `mirror_inside`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sizes: dict[str, int] = {}
        self._digests: dict[str, bytes] = {}

    def grown(self, name: str, offset: int, data: bytes) -> None:
        """A piece of a journal that begins `offset` bytes after its start; what came before is left out."""
        data = data[max(0, self._sizes.get(name, 0) - offset) :]
        if not data:
            return
        # In one write, whole lines: the tests' own processes append to the same file.
        handle = os.open(self._path(name), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            written = os.write(handle, data)
            while written < len(data):
                written += os.write(handle, data[written:])
        finally:
            os.close(handle)
        self._sizes[name] = self._sizes.get(name, 0) + len(data)

    def whole(self, name: str, data: bytes) -> None:
        """A file as it is now; one that came already, and may have been moved on since, does not come back."""
        digest = hashlib.sha256(data).digest()
        if self._digests.get(name) == digest:
            return
        path = self._path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.partial")
        partial.write_bytes(data)
        partial.replace(path)
        self._digests[name] = digest

    def left(self, name: str, data: bytes) -> None:
        """At the very end: a file as it was left."""
        first = name.partition("/")[0]
        if first in _NOT_OURS:
            return
        if first in ("staged", "observed", "marks", running.NAME):
            if not Path(name).name.startswith(".") and not name.endswith(".tmp"):
                self.whole(name, data)
        elif "/" not in name and name.endswith((".jsonl", ".log")):
            self.grown(name, 0, data if data.endswith(b"\n") or not data else data + b"\n")
        elif not self._path(name).exists():
            self.whole(name, data)

    def _path(self, name: str) -> Path:
        path = self._folder / name
        if not path.resolve().is_relative_to(self._folder.resolve()):
            raise OSError(f"{name} leads out of the run's folder")
        return path
