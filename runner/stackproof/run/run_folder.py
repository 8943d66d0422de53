"""The folder of a run: made, kept for a while, and the leftovers of runs that were killed."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
from pathlib import Path

from stackproof.evidence import age, jsonfile
from stackproof.stack import lifetime, proctable

KEPT = 20
OWNER = "owner.json"
PLAN = "plan.json"


def make(run_dir: Path) -> None:
    """Make the folder, write who owns it, and keep version control away from `.stackproof`."""
    run_dir.mkdir(parents=True, exist_ok=True)
    ignore = run_dir.parent.parent / ".gitignore"
    if not ignore.exists():
        jsonfile.write_text(ignore, "*\n")
    own = proctable.entry(os.getpid())
    jsonfile.write(
        run_dir / OWNER,
        {"host": socket.gethostname(), "pid": os.getpid(), "started": 0 if own is None else own.started},
    )


def release(run_dir: Path) -> None:
    """Give the folder up: its run has torn everything down."""
    (run_dir / OWNER).unlink(missing_ok=True)


def forget(run_dir: Path) -> None:
    """Remove the folder of a run that ended before anything of it began: one that holds its plan and nothing else."""
    with contextlib.suppress(OSError):
        if {path.name for path in run_dir.iterdir()} == {PLAN}:
            (run_dir / PLAN).unlink()
            run_dir.rmdir()


def running(runs: Path) -> tuple[str, ...]:
    """Ids of runs of this host that go on now: their owner is there and has not given the folder up."""
    owners = ((owner.parent.name, jsonfile.read(owner) or {}) for owner in sorted(runs.glob(f"*/{OWNER}")))
    return tuple(run_id for run_id, data in owners if data.get("host") == socket.gethostname() and _alive(data))


def sweep(runs: Path) -> tuple[str, ...]:
    """End what runs left whose process was killed; one line for each run that left something.

    Only runs of this host, whose owner is gone, and only processes of this user that carry the run's id.
    """
    lines = []
    for owner in sorted(runs.glob(f"*/{OWNER}")):
        data = jsonfile.read(owner) or {}
        if data.get("host") != socket.gethostname() or _alive(data):
            continue
        run_id = owner.parent.name
        # An id is short; with the folder of its cell it is this project's, and nobody else's.
        cells = sorted(owner.parent.glob("cells/*"))
        ended = {pid for cell in cells for pid in lifetime.end_marked(*markers(run_id, cell))}
        if ended:
            lines.append(f"run {run_id} was killed; ended {len(ended)} of its processes")
        owner.unlink(missing_ok=True)
    return tuple(lines)


def markers(run_id: str, cell_dir: Path) -> tuple[str, ...]:
    """What every process of a cell has in its environment."""
    return (f"STACKPROOF_RUN_ID={run_id}", f"STACKPROOF_RUN_DIR={cell_dir.absolute()}")


def prune(runs: Path, *, keep: int = KEPT) -> None:
    """Remove all but the newest `keep` run folders; one that is still owned stays."""
    folders = [folder for folder in runs.iterdir() if folder.is_dir() and not folder.is_symlink()]
    folders.sort(key=age.changed, reverse=True)
    for folder in folders[keep:]:
        if not (folder / OWNER).exists():
            shutil.rmtree(folder, ignore_errors=True)


def _alive(owner: dict[str, object]) -> bool:
    pid, started = owner.get("pid"), owner.get("started")
    return isinstance(pid, int) and isinstance(started, int) and proctable.alive(pid, started)
