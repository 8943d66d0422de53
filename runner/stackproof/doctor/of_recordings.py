"""Recordings: how many, whether they can be read, and whether Git keeps them, so that everybody replays the same."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stackproof.doctor import git_words
from stackproof.doctor.finding import Finding, missing, odd, ok, some
from stackproof.doctor.place import Place
from stackproof.evidence.recordings import open_one
from stackproof.plaintext import size
from stackproof.recordings import corpus
from stackproof.suggest import did_you_mean

_READ = 5000  # files
_SECONDS = 0.8  # for reading them
_POINTER = b"version https://git-lfs.github.com/spec/"
_LARGE = 200 << 20  # bytes; a clone takes all of it


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordingFacts:
    """files: number by setup. damaged: paths and why. pointers: files that are pointers of Git LFS. unknown: folders
    that no setup has the name of, with the nearest that one has. ignored, changed: what Git says; None where it says
    nothing. lacking: setups of a plain replay that have none, with the command that records. read: how many were read.
    """

    folder: str
    there: bool = False
    files: tuple[tuple[str, int], ...] = ()
    size: int = 0
    read: int = 0
    damaged: tuple[str, ...] = ()
    pointers: tuple[str, ...] = ()
    unknown: tuple[tuple[str, str], ...] = ()
    ignored: tuple[str, ...] | None = None
    changed: tuple[str, ...] | None = None
    lacking: tuple[tuple[str, str], ...] = ()

    @property
    def total(self) -> int:
        """How many recordings there are."""
        return sum(number for _, number in self.files)


def look(place: Place) -> RecordingFacts:
    """Count all files, and read them for as long as there is time."""
    folder = place.chosen.recordings
    root = place.project / folder
    known, planned = place.chosen.known, place.chosen.planned
    files, total = _count(root)
    replaying = planned is not None and planned.options.inference_mode == "replay"
    # A setup that calls nobody has nothing to record.
    asked = [cell.setup.name for cell in planned.cells if cell.setup.providers] if planned is not None else []
    setups = dict.fromkeys(asked) if replaying else {}
    names = list(known.setups) if known is not None else []
    read, damaged, pointers = _read(root)
    return RecordingFacts(
        folder=folder,
        there=root.is_dir(),
        files=tuple(files.items()),
        size=total,
        read=read,
        damaged=tuple(damaged),
        pointers=tuple(pointers),
        unknown=tuple((name, did_you_mean(name, names)) for name in files if known is not None and name not in names),
        ignored=git_words.ignored(place.project, folder) if root.is_dir() else None,
        changed=git_words.changed(place.project, folder) if root.is_dir() else None,
        lacking=tuple(
            (name, f"stackproof run --setup {name} --inference-mode record") for name in setups if not files.get(name)
        ),
    )


def judge(facts: RecordingFacts) -> Iterator[Finding]:
    """Can a replay find them, here and where somebody else has cloned the project?"""
    if facts.total:
        told = ", ".join(f"{number} of {setup}" for setup, number in facts.files if number)
        unread = (
            ""
            if facts.read >= facts.total
            else f"; {facts.read} of them were read, `stackproof recordings check` reads all"
        )
        yield ok("recordings.count", f"{facts.folder}/", f"has {told}; {size(facts.size)}{unread}")
    elif not facts.lacking:
        yield ok("recordings.count", f"{facts.folder}/", "has none, and a plain run needs none")
    for setup, command in facts.lacking:
        yield missing(
            "recordings.none",
            f"setup {setup}",
            f"has no recordings in {facts.folder}/, so a replay has nothing to answer with",
            f"`{command}`, with its key set",
        )
    yield from _broken(facts)
    for name, nearest in facts.unknown:
        yield odd(
            "recordings.unknown-setup",
            f"{facts.folder}/{name}",
            f"is the folder of no setup{nearest}: no run reads it",
            "give it the setup's name, or take it away",
        )
    yield from _kept(facts)
    if facts.size > _LARGE:
        yield odd(
            "recordings.size",
            f"{facts.folder}/",
            f"takes {size(facts.size)}, which every clone carries",
            "`stackproof recordings stats` tells what takes room, `stackproof recordings prune` removes what is unused",
        )


def _broken(facts: RecordingFacts) -> Iterator[Finding]:
    if facts.pointers:
        yield missing(
            "recordings.pointers",
            f"{facts.folder}/",
            f"has pointers of Git LFS in the place of files: {some(facts.pointers)}",
            "`git lfs install && git lfs pull`; in a workflow, `lfs: true` of actions/checkout",
        )
    if facts.damaged:
        yield missing(
            "recordings.damaged",
            f"{facts.folder}/",
            f"has files that cannot be read as recordings: {some(facts.damaged)}",
            "restore them from version control, or record their tests anew; `stackproof recordings check` names all",
        )


def _kept(facts: RecordingFacts) -> Iterator[Finding]:
    if facts.ignored:
        yield odd(
            "recordings.ignored",
            f"{facts.folder}/",
            f"is ignored by Git, as a whole or in part: {some(facts.ignored)}; nobody else can replay them",
            f"`git check-ignore -v {facts.ignored[0].rstrip('/')}` names the rule: take it out",
        )
    if facts.changed:
        number = len(facts.changed)
        yield odd(
            "recordings.uncommitted",
            f"{facts.folder}/",
            f"has {number} file{'' if number == 1 else 's'} that the last commit has not, or has otherwise: "
            f"{some(facts.changed)}",
            f"`git add {facts.folder}`, and commit: CI replays what is committed",
        )


def _count(root: Path) -> tuple[dict[str, int], int]:
    """Files by folder of a setup, and the bytes of all."""
    numbers: dict[str, int] = {}
    total = 0
    try:
        setups = sorted(entry.name for entry in os.scandir(root) if entry.is_dir() and entry.name[0] != ".")
    except OSError:
        return {}, 0
    for setup in setups:
        numbers[setup] = 0
        for base, _, names in os.walk(root / setup):
            for name in names:
                numbers[setup] += name.endswith(".json") and name[0] != "."
                try:
                    total += Path(base, name).lstat().st_size
                except OSError:
                    continue
    return numbers, total


def _read(root: Path) -> tuple[int, list[str], list[str]]:
    until = time.monotonic() + _SECONDS
    damaged: list[str] = []
    pointers: list[str] = []
    read = 0
    for path in corpus.paths(root) if root.is_dir() else ():
        if read >= _READ or time.monotonic() > until:
            break
        read += 1
        name = path.relative_to(root).as_posix()
        _, damage = open_one(path)
        if damage is not None:
            (pointers if _is_pointer(path) else damaged).append(name)
    return read, damaged, pointers


def _is_pointer(path: Path) -> bool:
    """A text of three lines in the place of a file (https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md)."""
    try:
        with path.open("rb") as file:
            return file.read(len(_POINTER)) == _POINTER
    except OSError:
        return False
