"""Numbers that several processes take from one sequence, each number once.

One file for the whole run: a line for each number that was taken, read and appended under a lock that the kernel gives
back when its holder dies. Creating a file for each number would be simpler and costs a hundred times as much.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading


class Claims:
    """Counters by name, shared by all processes that open the same path. Safe for threads and after a fork."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._handle: int | None = None
        self._pid = 0
        self._read = 0
        self._taken: dict[bytes, int] = {}

    def take(self, name: str) -> int:
        """The next number of `name`, from 1."""
        key = name.encode("utf-8", "backslashreplace")
        with self._lock:
            handle = self._open()
            fcntl.flock(handle, fcntl.LOCK_EX)
            try:
                self._catch_up(handle)
                number = self._taken[key] = self._taken.get(key, 0) + 1
                line = key + b"\n"
                os.write(handle, line)
                self._read += len(line)
            finally:
                fcntl.flock(handle, fcntl.LOCK_UN)
        return number

    def taken(self, name: str) -> int:
        """The highest number of `name` that anybody took so far; 0 where nobody has."""
        with self._lock:
            handle = self._open()
            fcntl.flock(handle, fcntl.LOCK_EX)
            try:
                self._catch_up(handle)
            finally:
                fcntl.flock(handle, fcntl.LOCK_UN)
            return self._taken.get(name.encode("utf-8", "backslashreplace"), 0)

    def close(self) -> None:
        """Give the file back; a later `take` opens it again."""
        with self._lock:
            self._drop()

    def after_fork(self) -> None:
        """In a child: a thread that it does not have may hold its copy of the lock. The file is opened anew anyhow."""
        self._lock = threading.Lock()

    def _open(self) -> int:
        # A lock belongs to the open file, which a forked child shares with its parent: each process opens its own.
        if self._handle is None or self._pid != os.getpid():
            self._drop()
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            self._pid, self._read = os.getpid(), 0
            self._taken.clear()
        return self._handle

    def _drop(self) -> None:
        if self._handle is not None:
            with contextlib.suppress(OSError):
                os.close(self._handle)
            self._handle = None

    def _catch_up(self, handle: int) -> None:
        """Count what others took since we looked; a line that a killed process left unfinished is ended first."""
        # What is written goes to the end wherever the file's position is: it is free to be asked for the size.
        size = os.lseek(handle, 0, os.SEEK_END)
        if size == self._read:
            return
        data = os.pread(handle, size - self._read, self._read)
        if not data.endswith(b"\n"):
            os.write(handle, b"\n")
            size += 1
        for key in data.splitlines():
            self._taken[key] = self._taken.get(key, 0) + 1
        self._read = size
