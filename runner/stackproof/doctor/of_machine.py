"""The machine: its system, room on its disks, the temporary folder, the clock."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stackproof.doctor.finding import Finding, missing, odd, ok
from stackproof.doctor.place import Place
from stackproof.doctor.system import System, describe

_NEARLY = 1 << 30  # bytes
_FULL = 64 << 20
_FILES = 1000
_SKEW = 300.0  # seconds; file systems of other machines are a little ahead
_NEWEST = 40  # files that are looked at for it
_BORN = 1_767_225_600.0  # 2026-01-01: no clock that is right says less
_OPEN_FILES = 512


@dataclass(frozen=True, kw_only=True, slots=True)
class Disk:
    """A folder, and the room on its disk: bytes, and files where the file system counts them. Below: what it is for."""

    folder: str
    what: str
    free: int
    files: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class MachineFacts:
    """unusable: what is wrong with the folder that TMPDIR names. ahead: seconds that the newest file is in the future.

    windows_disk: the project lies on a disk of Windows. read_only: the project's folder cannot be written to.
    open_files: the limit for one process.
    """

    system: System
    windows_disk: bool
    disks: tuple[Disk, ...]
    temporary: str
    unusable: str | None
    read_only: bool
    now: float
    ahead: float
    newest: str
    open_files: int | None


def look(place: Place) -> MachineFacts:
    """Ask the system; nothing is written to find out whether it could be."""
    temporary = _temporary(place)
    folders = {place.project: "runs and recordings", temporary: "temporary files", place.home: "the cache in ~/.cache"}
    disks: dict[int, Disk] = {}
    for folder, what in folders.items():
        try:
            device = folder.stat().st_dev
            free, files = shutil.disk_usage(folder).free, os.statvfs(folder)
        except OSError:
            continue
        # One file system is told of once; some count no files and say 0 of 0.
        left = files.f_favail if files.f_files else None
        disks.setdefault(device, Disk(folder=place.short(folder), what=what, free=free, files=left))
    newest, ahead = _newest(place)
    return MachineFacts(
        system=describe(),
        windows_disk=_on_windows_disk(place.project),
        disks=tuple(disks.values()),
        temporary=place.short(temporary),
        unusable=_unusable(temporary),
        read_only=place.is_project and not os.access(place.project, os.W_OK | os.X_OK),
        now=place.now,
        ahead=ahead,
        newest=newest,
        open_files=_open_files(),
    )


def judge(facts: MachineFacts) -> Iterator[Finding]:
    """Is it one that works, and is there room?"""
    yield from _system(facts)
    for disk in facts.disks:
        if disk.free < _NEARLY or (disk.files is not None and disk.files < _FILES):
            files = disk.files is not None and disk.files < _FILES
            left = f"{disk.files} more files" if files else f"{disk.free >> 20} MB"
            make = missing if disk.free < _FULL or disk.files == 0 else odd
            yield make(
                "machine.disk",
                disk.folder,
                f"is on a disk with room for {left}, which takes {disk.what}",
                "make room: runs in .stackproof/runs may go, and `stackproof stack down --images` removes images",
            )
    if facts.unusable is not None:
        yield missing(
            "machine.temporary",
            facts.temporary,
            f"is the folder for temporary files, and {facts.unusable}",
            "set TMPDIR to a folder that you may write to, or unset it",
        )
    if facts.read_only:
        yield missing(
            "machine.read-only",
            "the project's folder",
            "cannot be written to, and runs write below .stackproof/",
            "make it writable, or work on a copy",
        )
    yield from _clock(facts)
    if facts.open_files is not None and facts.open_files < _OPEN_FILES:
        yield odd(
            "machine.open-files",
            "open files",
            f"a process may have {facts.open_files} open at once",
            "`ulimit -n 4096` before runs with several workers",
        )


def _system(facts: MachineFacts) -> Iterator[Finding]:
    system = facts.system
    match system.kind:
        case "Linux" | "Darwin":
            free = ", ".join(f"{disk.free >> 30} GB free for {disk.what}" for disk in facts.disks[:1])
            yield ok("machine.system", system.words, f", {free}" if free else "is supported")
        case _:
            yield missing(
                "machine.system",
                system.words,
                "is not supported: Stackproof needs Linux or macOS",
                "on Windows use WSL 2: `wsl --install`, and install Stackproof inside of it",
            )
    if system.wsl == 1:
        yield odd(
            "machine.wsl1",
            "WSL 1",
            "has no network namespaces and no Docker engine of its own",
            "`wsl --set-version DISTRIBUTION 2`, as PowerShell takes it",
        )
    if facts.windows_disk:
        yield odd(
            "machine.windows-disk",
            "the project",
            "lies on a disk of Windows: every file takes many times as long, and permissions and names differ",
            "keep it on the Linux side, below your home folder in WSL",
        )


def _clock(facts: MachineFacts) -> Iterator[Finding]:
    if facts.now < _BORN:
        yield odd(
            "machine.clock",
            "the clock",
            "says a time before this version of Stackproof was made; certificates and dates of evidence depend on it",
            "set the clock",
        )
    elif facts.ahead > _SKEW:
        yield odd(
            "machine.clock",
            "the clock",
            f"is {facts.ahead / 60:.0f} min behind the newest file of the project, {facts.newest}",
            "set the clock of this machine, or of the one that wrote the file",
        )


def _temporary(place: Place) -> Path:
    """The folder that programs which are started take; Python itself would quietly take another than TMPDIR."""
    named = next((place.environ[name] for name in ("TMPDIR", "TEMP", "TMP") if place.environ.get(name)), "/tmp")  # noqa: S108
    return Path(named)


def _unusable(folder: Path) -> str | None:
    if not folder.is_dir():
        return "is no folder" if folder.exists() else "is not there"
    return None if os.access(folder, os.W_OK | os.X_OK) else "cannot be written to"


def _newest(place: Place) -> tuple[str, float]:
    """Of the first files of the project, and what Git writes: the newest, and by how much it is ahead of the clock."""
    newest, when = "", 0.0
    try:
        paths = [*sorted(place.project.iterdir())[:_NEWEST], place.project / ".git" / "index"]
    except OSError:
        return "", 0.0
    for path in paths:
        try:
            changed = path.stat().st_mtime
        except OSError:
            continue
        if changed > when:
            newest, when = place.short(path), changed
    return newest, when - place.now


def _on_windows_disk(project: Path) -> bool:
    """WSL mounts a disk of Windows as 9p or drvfs below /mnt."""
    if sys.platform != "linux" or "microsoft" not in platform.release().lower():
        return False
    parts = project.resolve().parts
    return parts[:2] == ("/", "mnt") and len(parts) > 2 and len(parts[2]) == 1


def _open_files() -> int | None:
    if sys.platform == "win32":
        return None
    import resource  # noqa: PLC0415 - not everywhere

    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return None if limit == resource.RLIM_INFINITY else limit
