"""Appends lines to a trace: one at a time, under a lock, whole or not at all.

A writer that is killed leaves at most a torn last line. The next one drops it: nobody was told that it was written.
"""

from __future__ import annotations

import contextlib
import logging
import os
from pathlib import Path

from stackproof.trace.contents import all_of, is_torn, understood
from stackproof.trace.errors import TraceVersionError
from stackproof.trace.events import JsonObject
from stackproof.trace.exchange import to_line
from stackproof.trace.framing import framing_of
from stackproof.trace.locking import PATIENCE, refused, writing
from stackproof.trace.versions import CURRENT, HEADER_LINE

_log = logging.getLogger("stackproof.trace")


class Appender:
    """Writes to one file, which is made, with its folder, when the first line is."""

    def __init__(self, path: Path, *, patience: float = PATIENCE) -> None:
        """Refuses at once, before anything is paid for, a file that nothing could be appended to.

        MissingPackageError, TraceFileError, TraceVersionError, DamagedTraceError. A torn last line is no reason.
        """
        self._path, self._framing, self._patience = path, framing_of(path), patience
        self._known: tuple[int, int, int] | None = None
        if os.path.lexists(path):
            with writing(path, create=False, patience=patience) as handle:
                self._fit(all_of(path, handle))
        else:
            self._folder(make=False)

    def append(self, content: JsonObject) -> None:
        """Write the object as the last line. TraceFileError where that cannot be; then nothing of it is left."""
        line = to_line(content)
        self._folder(make=True)
        with writing(self._path, patience=self._patience) as handle:
            end, before = self._end(handle)
            packed = self._framing.pack(before + line)
            try:
                _put(handle, packed if end else self._framing.pack(HEADER_LINE) + packed, end)
            except OSError as error:
                raise refused(self._path, error) from None
            self._known = _state(handle)

    def _end(self, handle: int) -> tuple[int, bytes]:
        """Where the next line begins in the file, and what is to stand before it."""
        now = _state(handle)
        size = now[2]
        if now == self._known:
            return size, b""
        start = 0
        if self._known is not None and now[:2] == self._known[:2] and size > self._known[2]:
            start = self._known[2]  # others have appended since
        raw = all_of(self._path, handle, start)
        if not start:
            self._fit(raw)
        text, torn = self._framing.unpack(raw)
        last = text.rpartition(b"\n")[2]
        if last and is_torn(last):  # in a whole frame it would have been refused
            torn, last = len(last), b""
        if torn:
            _log.warning("%s: its last line was cut short by a writer that was stopped; it is dropped", self._path)
        return size - torn, b"\n" if last else b""

    def _fit(self, raw: bytes) -> None:
        found = understood(self._path, raw, self._framing)
        if found.version != CURRENT:
            raise TraceVersionError(
                f"{self._path} has version {found.version} of the trace format; version {CURRENT} is what is appended",
                hint=f"stackproof trace migrate {self._path}",
            )
        if found.damage is not None and not found.damage.torn:
            raise found.damage

    def _folder(self, *, make: bool) -> None:
        folder = self._path.parent
        try:
            if make:
                folder.mkdir(parents=True, exist_ok=True)
                return
            while not folder.exists() and folder != folder.parent:
                folder = folder.parent
            if not folder.is_dir():
                raise NotADirectoryError(str(folder))
            if not os.access(folder, os.W_OK | os.X_OK):
                raise PermissionError(0, f"the folder {folder} is not writable")
        except OSError as error:
            raise refused(self._path, error) from None


def _state(handle: int) -> tuple[int, int, int]:
    found = os.fstat(handle)
    return found.st_dev, found.st_ino, found.st_size


def _put(handle: int, data: bytes, end: int) -> None:
    os.ftruncate(handle, end)
    try:
        written = 0
        while written < len(data):
            written += os.pwrite(handle, data[written:], end + written)
        os.fsync(handle)
    except BaseException:
        with contextlib.suppress(OSError):
            os.ftruncate(handle, end)
        raise
