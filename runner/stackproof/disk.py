"""What a person is told when the machine refuses to keep a file: which one, why, how much room is left, what next."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
from pathlib import Path

from stackproof.errors import DiskError
from stackproof.plaintext import size

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.ENOTDIR})
_SHUT = frozenset({errno.EACCES, errno.EPERM})
# A run that has less is out of room: its next file, or the one after that, has no place.
_LEAST = 64 * 1024


def refusal(error: OSError, *, near: Path, keep: str = "") -> DiskError | None:
    """An error of the system as one sentence; None for what is a fault of our own.

    near: a folder of the file system that is meant, where the error names no file, as one of a write does. keep: what
    to do about what is kept already, the last line of the hint.
    """
    if error.errno not in _FULL | _SHUT:
        return None
    named = isinstance(error.filename, str | bytes)
    path = Path(os.fsdecode(error.filename)) if named else near
    what = "may not be read or written" if error.errno in _SHUT else "cannot be written"
    why, hint = _why(error.errno, path)
    return DiskError(
        f"{_shown(path) if named else 'a file of this run'} {what}: {os.strerror(error.errno)}{why}",
        hint="\n".join(filter(None, (hint, keep))),
    )


def probed(folder: Path, *, keep: str = "") -> DiskError | None:
    """Whether `folder` takes files now: tried, with one that goes again at once. None where it does.

    For who is told by another process only that something went wrong. keep: as of `refusal`.
    """
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".stackproof-", buffering=0) as file:
            left = _LEAST
            while left > 0:
                left -= file.write(b"\0" * left)
    except OSError as error:
        # The name of the attempt is nobody's file.
        unnamed = OSError(error.errno, os.strerror(error.errno or 0), str(folder))
        return refusal(unnamed, near=folder, keep=keep)
    return None


def promote(run_id: str) -> str:
    """What becomes of answers that a run has recorded and could not put into their place: the `keep` of an error."""
    return f"what was recorded waits in the run's folder; then: stackproof recordings promote {run_id}"


def _why(number: int, path: Path) -> tuple[str, str]:
    """What goes on behind the system's own words, and what to do."""
    there = _there(path)
    match number:
        case errno.ENOSPC:
            return f", {_room(there)} free on {_mount(there)}", f"make room there{_runs(path)}"
        case errno.EDQUOT:
            return f", and {_room(there)} free on {_mount(there)} for others", (
                f"have the quota raised, or remove what this user no longer needs there{_runs(path)}"
            )
        case errno.EROFS:
            return "", "mount it writable, or work on a copy of the project elsewhere"
        case errno.ENOTDIR:
            return "", "a file lies where a folder has to be: move it away"
        case _:
            return f"; {_shown(there)} is {_owner(there)}'s, and this is {_user(os.geteuid())}", (
                "make it writable for this user (chown, chmod); a run as root or in a container may have left it so"
            )


def _runs(path: Path) -> str:
    """Where most of what may go is."""
    return ": runs in .stackproof/runs that are no longer needed may go" if ".stackproof" in path.parts else ""


def _shown(path: Path) -> str:
    """As a person types it here."""
    here = Path.cwd()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) and path != here else str(path)


def _there(path: Path) -> Path:
    """The nearest that exists: what is said of it holds of what it does not have yet."""
    for place in (path.absolute(), *path.absolute().parents):
        with contextlib.suppress(OSError):
            place.lstat()
            return place
    return Path("/")


def _mount(there: Path) -> Path:
    """Where the file system begins."""
    return next((place for place in (there, *there.parents) if os.path.ismount(place)), Path("/"))


def _room(there: Path) -> str:
    """`0 B of 400 kB`."""
    try:
        usage = shutil.disk_usage(there)
    except OSError:
        return "an unknown part"
    return f"{size(usage.free)} of {size(usage.total)}"


def _owner(there: Path) -> str:
    try:
        return _user(there.lstat().st_uid)
    except OSError:
        return "somebody else"


def _user(uid: int) -> str:
    import pwd  # noqa: PLC0415 - where there is none, what needs it is told by `lacking_posix`

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:  # as in a container that has no line for it
        return f"user {uid}"
