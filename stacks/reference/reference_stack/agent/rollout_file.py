"""The file of a rollout: one writer at a time, and only whole lines in front of what is written next."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from reference_stack.agent.rollout import RolloutBusyError, RolloutWriteError

_TAIL = 65536


class RolloutFile:
    """A `Sink` at the end of a file, which belongs to whoever has it open: another one gets RolloutBusyError.

    A file that ends in the middle of a line was left by a writer that was killed or had no room: that last part was
    never confirmed, and goes. `dropped` says how many bytes it had. The lock is the kernel's (flock(2)): it is gone
    with the process that holds it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.dropped = 0
        self._fd: int | None = None

    def open(self) -> None:
        """Take the file, which is made where there is none. Raises RolloutBusyError and RolloutWriteError."""
        try:
            self._fd = _locked(self.path)
            self.dropped = _cut(self._fd)
        except OSError as error:
            self.close()
            raise RolloutWriteError(f"The rollout {self.path} cannot be opened: {error.strerror}.") from error

    def write(self, data: bytes) -> int:
        """How many bytes of `data` are in the file now, counted from its begin. Raises OSError when it is none."""
        return os.write(self._opened(), data)

    def sync(self) -> None:
        """What was written stays when the machine stops."""
        os.fsync(self._opened())

    def close(self) -> None:
        """Let go of the file. Safe to call again."""
        if self._fd is not None:
            fd, self._fd = self._fd, None
            os.close(fd)

    def _opened(self) -> int:
        if self._fd is None:
            raise RolloutWriteError(f"The rollout {self.path} is not open.")
        return self._fd


def _locked(path: Path) -> int:
    new = not path.exists()
    fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(fd)
        raise RolloutBusyError(f"The rollout {path} is being written by somebody else.") from error
    except OSError:
        os.close(fd)
        raise
    if new:
        _sync_folder(path.parent)
    return fd


def _sync_folder(folder: Path) -> None:
    # Without it the name of a new file need not outlive a crash of the machine, whatever was synced into it.
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _cut(fd: int) -> int:
    """Take away what follows the last line's end; how many bytes that was."""
    size = os.fstat(fd).st_size
    end = size
    while end:
        begin = max(0, end - _TAIL)
        found = os.pread(fd, end - begin, begin).rfind(b"\n")
        end = begin if found < 0 else begin + found + 1
        if found >= 0:
            break
    if end < size:
        os.ftruncate(fd, end)
        os.fsync(fd)
    return size - end
