"""A trace that is open and locked: by one who writes, or by any number who read.

The lock is the file's own, so nothing is left of it, and the kernel gives it back when its holder dies.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from stackproof.trace.errors import TraceBusyError, TraceError, TraceFileError

PATIENCE = 10.0  # seconds that a lock is waited for; a line is written in milliseconds
_PAUSE = 0.005
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_WITHOUT_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL})


@contextlib.contextmanager
def reading(path: Path, *, patience: float = PATIENCE) -> Iterator[int]:
    """A handle of the file while nobody writes it. TraceFileError, TraceBusyError."""
    with _held(path, os.O_RDONLY, fcntl.LOCK_SH, patience) as handle:
        yield handle


@contextlib.contextmanager
def writing(path: Path, *, create: bool = True, patience: float = PATIENCE) -> Iterator[int]:
    """A handle of the file, made where it is missing unless told otherwise, while nobody else reads or writes it."""
    flags = os.O_RDWR | (os.O_CREAT if create else 0)
    with _held(path, flags, fcntl.LOCK_EX, patience) as handle:
        yield handle


def refused(path: Path, error: OSError) -> TraceError:
    """The words for what the system says about a file."""
    match error:
        case FileNotFoundError():
            return TraceFileError(f"there is no trace at {path}", hint="a RecordingModelClient writes one")
        case IsADirectoryError():
            return TraceFileError(f"{path} is a folder, not a trace", hint=f"name the files in it: {path}/*.jsonl")
        case NotADirectoryError():
            return TraceFileError(f"{path} lies below something that is no folder", hint="choose another place")
        case _ if error.errno == errno.ELOOP:
            return TraceFileError(f"{path} is a link that leads back to itself", hint="remove it")
        case _:
            why = error.strerror or str(error)
            hint = "make room there" if error.errno in _NO_ROOM else "look at its permissions"
            return TraceFileError(f"{path} cannot be read or written: {why}", hint=f"{hint}, or choose another place")


@contextlib.contextmanager
def _held(path: Path, flags: int, kind: int, patience: float) -> Iterator[int]:
    ends = time.monotonic() + patience
    while True:
        try:
            # A pipe would keep the one who opens it waiting for its other end.
            handle = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK, 0o666)
        except OSError as error:
            raise refused(path, error) from None
        try:
            _regular(path, handle)
            _lock(path, handle, kind, ends)
            if _is_still(path, handle):
                yield handle
                return
        finally:
            # Not by closing alone: a child that was forked meanwhile has the open file, too, and would keep the lock.
            with contextlib.suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_UN)
            os.close(handle)


def _regular(path: Path, handle: int) -> None:
    mode = os.fstat(handle).st_mode
    if stat.S_ISDIR(mode):
        raise refused(path, IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR)))
    if not stat.S_ISREG(mode):
        raise TraceFileError(f"{path} is no regular file", hint="a trace is a file that is written at its end")


def _lock(path: Path, handle: int, kind: int, ends: float) -> None:
    while True:
        try:
            fcntl.flock(handle, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= ends:
                raise TraceBusyError(
                    f"{path} has been held by another process for too long", hint=f"find it: fuser -v {path}"
                ) from None
            time.sleep(_PAUSE)
        except OSError as error:
            if error.errno in _WITHOUT_LOCKS:
                return
            raise refused(path, error) from None
        else:
            return


def _is_still(path: Path, handle: int) -> bool:
    """Whether the name still means the file that was locked: a migration may have put another in its place."""
    try:
        there = path.stat()
    except OSError:
        return False
    return os.path.samestat(there, os.fstat(handle))
