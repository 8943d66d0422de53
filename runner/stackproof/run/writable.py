"""Whether recordings can be written, asked before anything starts: a run that cannot keep its answers is wasted."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from stackproof.errors import DiskError, RecordingError

# Another run makes its folders meanwhile, and takes away what stays empty. A file system that takes none, as /proc,
# says so in the same words, and each time.
_LOOKS = 100
_HINT = "make the folder writable, choose another with --recording-dir, or use --inference-mode replay"


def require(recordings: Path, setup: str) -> None:
    """Make a folder where recordings of `setup` go, and remove it. DiskError when that does not work.

    Tried, not asked: permissions, read-only mounts and full disks all show, and a super-user is told the truth.
    RecordingError for a file in the place of the folder, which is no fault of the disk.
    """
    folder = recordings / setup
    try:
        _try(folder)
        # Folders that recordings are in already have owners of their own (a container that ran as another user).
        closed = next((path for path in _inside(folder) if path.is_dir() and not os.access(path, os.W_OK)), None)
    except OSError as error:
        if error.errno == errno.ENOTDIR:
            raise RecordingError(f"recordings cannot be written to {folder}: Not a directory", hint=_HINT) from error
        raise DiskError(f"recordings cannot be written to {folder}: {error.strerror or error}", hint=_HINT) from error
    if closed is not None:
        raise DiskError(f"recordings cannot be written to {closed}: Permission denied", hint=_HINT)


def _try(folder: Path) -> None:
    """Make a folder where `folder` is, or will be, and remove it.

    Folders that are missing stay missing: another run may be asking the same of them, and would find them come and go.
    """
    for place in (folder, *folder.parents):
        for look in range(_LOOKS):
            try:
                Path(tempfile.mkdtemp(dir=place, prefix=".stackproof-")).rmdir()
            except FileNotFoundError:
                if not place.is_dir():
                    break  # its parent is asked
                if look == _LOOKS - 1:
                    raise
            else:
                return


def _inside(folder: Path) -> Iterator[Path]:
    with contextlib.suppress(FileNotFoundError):
        yield from folder.iterdir()
