"""What goes into a container that sees no folder of this machine, and what comes out of it: tar archives.

Paths inside are those outside, so nothing has to be translated, but for what of Stackproof itself goes in.
"""

from __future__ import annotations

import io
import os
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from stackproof.recorder.store import COMMON, folder_of

_IN_MEMORY = 8 << 20  # bytes; more of an archive goes to a temporary file


@dataclass(frozen=True, kw_only=True, slots=True)
class Folder:
    """Goes in as `path`, or as `inside` where it has another path there, with `files` of it, even when these are none.

    files: paths below `path`. as_mounted: it is there to be read, so it belongs to root, and links in it stay links.
    """

    path: Path
    files: Sequence[Path]
    inside: Path | None = None
    as_mounted: bool = False

    @property
    def size(self) -> int:
        """Bytes of its files."""
        return sum(path.lstat().st_size for path in self.files)


def everything(path: Path) -> Folder:
    """A folder with all that is in it."""
    return Folder(path=path, files=tuple(_below(path)))


def recordings(root: Path, setup: str, paths: Iterable[str], integration_root: str) -> Folder:
    """Of a folder of recordings what the tests in `paths` can ask for: their folders, those above, and `common`.

    paths: files, folders or node ids, as pytest is pointed at them, relative to the project.
    """
    base = root / setup
    found = dict.fromkeys(_below(base / COMMON))
    for path in paths:
        name = path.partition("::")[0].rstrip("/")
        below = folder_of(name if name.endswith(".py") else f"{name}/x.py", integration_root)
        folder = base / below
        found |= dict.fromkeys(_below(folder))
        while folder != base and folder.is_relative_to(base):
            folder = folder.parent  # of fixtures that more folders share
            found |= dict.fromkeys(_files(folder))
    return Folder(path=root, files=tuple(found))


def packed(folders: Sequence[Folder], *, owner: tuple[int, int]) -> IO[bytes]:
    """A tar archive of them, to be unpacked at `/`. owner: user and group id of what the container may write."""
    spool: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - the caller closes it
    try:
        with tarfile.open(fileobj=spool, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for folder in folders:
                made: set[Path] = set()
                for path in (folder.path, *folder.files):
                    for parent in reversed([path, *path.parents]):
                        if parent.is_relative_to(folder.path) and parent not in made and _is_folder(parent, folder):
                            made.add(parent)
                            archive.addfile(_entry(parent, folder, tarfile.DIRTYPE, owner))
                for path in folder.files:
                    if folder.as_mounted and path.is_symlink():
                        link = _entry(path, folder, tarfile.SYMTYPE, owner)
                        link.linkname = str(path.readlink())
                        archive.addfile(link)
                        continue
                    data = path.read_bytes()
                    entry = _entry(path, folder, tarfile.REGTYPE, owner)
                    entry.size = len(data)
                    archive.addfile(entry, io.BytesIO(data))
        spool.seek(0)
    except BaseException:
        spool.close()
        raise
    return spool


class Into(Protocol):
    """Takes what comes out of a container."""

    def left(self, name: str, data: bytes) -> None:
        """A file as it was left; its name is relative to the folder."""


def unpack(archive: Iterable[bytes], into: Into) -> None:
    """Hand the files of a folder's archive on; tarfile.TarError or OSError when it is cut or cannot be kept."""
    stream = _Stream(iter(archive))
    with tarfile.open(fileobj=stream, mode="r|") as opened:
        for entry in opened:
            _, _, name = entry.name.partition("/")  # the folder's own name comes first
            if name and entry.isreg() and (content := opened.extractfile(entry)) is not None:
                data = content.read()
                if len(data) != entry.size:
                    raise tarfile.ReadError(f"{name} is cut")
                into.left(name, data)
    if not stream.ended_well:
        raise tarfile.ReadError("it has no end")


def only_file(archive: Iterable[bytes]) -> bytes:
    """The content of the one file in an archive; empty when it holds none, or is none."""
    try:
        with tarfile.open(fileobj=io.BytesIO(b"".join(archive))) as opened:
            content = next((opened.extractfile(entry) for entry in opened if entry.isreg()), None)
            return b"" if content is None else content.read()
    except tarfile.TarError:
        return b""


def _is_folder(path: Path, folder: Folder) -> bool:
    return path.is_dir() and not (folder.as_mounted and path.is_symlink())


def _entry(path: Path, folder: Folder, kind: bytes, owner: tuple[int, int]) -> tarfile.TarInfo:
    there = path.absolute() if folder.inside is None else folder.inside / path.relative_to(folder.path)
    entry = tarfile.TarInfo(str(there).lstrip("/"))
    entry.type = kind
    entry.uid, entry.gid = (0, 0) if folder.as_mounted else owner
    found = path.lstat() if kind == tarfile.SYMTYPE else path.stat()
    entry.mode = 0o755 if kind == tarfile.DIRTYPE or found.st_mode & 0o100 else 0o644
    entry.mtime = int(found.st_mtime)
    return entry


def _below(folder: Path) -> Iterator[Path]:
    for base, folders, names in os.walk(folder):
        # What Python compiles meanwhile has names that are gone a moment later.
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        yield from (Path(base, name) for name in sorted(names) if not name.endswith((".pyc", ".tmp")))


def _files(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from (path for path in sorted(folder.iterdir()) if path.is_file() and path.suffix != ".tmp")


class _Stream(io.RawIOBase):
    """Pieces as a file; knows whether the archive's end, a block of zeros, was among them."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._left, self._last = pieces, b"", b""

    @property
    def ended_well(self) -> bool:
        """Reads to the end; whether a whole block of zeros stands there."""
        while self.read(1 << 16):
            pass
        return self._last == b"\0" * tarfile.BLOCKSIZE

    def readable(self) -> bool:
        """It is there to be read."""
        return True

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes, all that is left for -1."""
        while size < 0 or len(self._left) < size:
            piece = next(self._pieces, b"")
            if not piece:
                break
            self._left += piece
            self._last = (self._last + piece)[-tarfile.BLOCKSIZE :]
        found = self._left if size < 0 else self._left[:size]
        self._left = self._left[len(found) :]
        return found
