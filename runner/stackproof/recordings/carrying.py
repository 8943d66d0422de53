"""Carries out a plan of moves so that one that was killed anywhere can be finished exactly as it was begun.

New files are written to `.moving/` in the recording directory first. Then the order is given: one file that names all
moves. Until it is there nothing has happened; from then on it is going to be done, by this process or by the next one.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackproof.errors import RecordingError, UsageError
from stackproof.recorder import recording, sidefile
from stackproof.recorder.recording import DamagedRecordingError, Recording
from stackproof.recordings.relocating import Form, Plan
from stackproof.recordings.wording import counted

FOLDER = ".moving"
_ORDER = "order.json"


@contextlib.contextmanager
def alone(root: Path) -> Iterator[None]:
    """Hold the recording directory; UsageError when another command holds it, or when there is no such directory."""
    try:
        handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(
            f"there is no folder of recordings at {root}",
            hint="--recording-dir names another; a run with --inference-mode record makes one",
        ) from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"another command is moving files in {root.name}/", hint="wait for its end") from None
        try:
            yield
        finally:
            # Not by closing alone: a child that was forked meanwhile would keep the lock.
            fcntl.flock(handle, fcntl.LOCK_UN)
    finally:
        os.close(handle)


def unfinished(root: Path) -> str | None:
    """The command whose moves were ordered and not all made; None where there is none."""
    order = _read_order(root)
    return None if order is None else str(order["what"])


def refuse_unfinished(root: Path) -> None:
    """RecordingError when a killed command left moves to be made: nothing that is looked at now is what it will be."""
    what = unfinished(root)
    if what is not None:
        raise RecordingError(
            f"stackproof recordings {what} was killed before its end", hint="the same command without --dry-run ends it"
        )


def carry_out(root: Path, plan: Plan, form: Form) -> None:
    """Write the new files, then remove the old ones. RecordingError when a file changed since the plan was made."""
    begin(root, plan, form)
    finish(root)


def begin(root: Path, plan: Plan, form: Form) -> None:
    """Write the new files aside and give the order."""
    staging = root / FOLDER
    shutil.rmtree(staging, ignore_errors=True)  # of a command that was killed before it gave an order
    try:
        for move in plan.moves:
            recording.put(str(staging / move.target), form(move, _still_there(root, move.source)))
        targets = {move.target for move in plan.moves}
        sources = {move.source for move in (*plan.moves, *plan.folded)}
        order = {"what": plan.what, "write": sorted(targets), "remove": sorted(sources - targets)}
        staging.mkdir(exist_ok=True)
        temporary = staging / f"{_ORDER}.tmp"
        temporary.write_text(json.dumps(order), encoding="utf-8")
        temporary.replace(staging / _ORDER)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise


@dataclass(frozen=True, kw_only=True, slots=True)
class Finished:
    """A command whose moves are made now, and how many files it wrote."""

    what: str
    files: int

    def __str__(self) -> str:
        return f"finished what was begun and killed: {self.what}, {counted(self.files, 'file')}"


def finish(root: Path) -> Finished | None:
    """Do what was ordered, from the start: what is done already is done again. None where there is no order."""
    order, staging = _read_order(root), root / FOLDER
    if order is None:
        return None
    _remove_torn(root, order["write"])
    for name in order["write"]:
        _put_in_place(staging / name, root / name)
    for name in order["remove"]:
        recording.remove(str(root / name))
    for folder in {(root / name).parent for name in order["remove"]}:
        with contextlib.suppress(OSError):  # not empty, most of the time
            folder.rmdir()
    for setup in {name.partition("/")[0] for name in order["write"]}:
        shutil.rmtree(staging / setup, ignore_errors=True)
    # Last of all: as long as it is there the command is not over, and without it the command would begin anew.
    (staging / _ORDER).unlink()
    staging.rmdir()
    return Finished(what=str(order["what"]), files=len(order["write"]))


def _put_in_place(staged: Path, target: Path) -> None:
    """Move one file; where it is gone it is in place already."""
    content = recording.read(str(staged))
    if content is None:
        return
    before = _read(target)
    if any(one is not None and sidefile.large(one["response"].get("body")) is not None for one in (content, before)):
        # Two files cannot be moved at once: they are copied, so that all of it can be done again.
        recording.put(str(target), content, before)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    staged.replace(target)


def _read_order(root: Path) -> Any:
    try:
        return json.loads((root / FOLDER / _ORDER).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None


def _remove_torn(root: Path, names: list[str]) -> None:
    """Remove what a killed process was writing at these names."""
    stems = {Path(name).stem for name in names}
    for folder in {(root / name).parent for name in names}:
        for path in folder.glob(".*.tmp"):
            if path.name[1:].partition(".")[0] in stems:
                path.unlink()


def _still_there(root: Path, name: str) -> Recording:
    content = _read(root / name)
    if content is None:
        raise RecordingError(f"{root.name}/{name} changed meanwhile", hint="nothing was moved; try again")
    return content


def _read(path: Path) -> Recording | None:
    try:
        return recording.read(str(path))
    except DamagedRecordingError:
        return None
