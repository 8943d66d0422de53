"""Where a scope's recordings are looked up, and which names are known of a scope of which there is only a digest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from stackproof.evidence import jsonfile
from stackproof.plan import RUNS
from stackproof.recorder.scope import STACK_NAME, Scope
from stackproof.recorder.store import Store

_RUNS_READ = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A folder that a call looks in. `files` are the paths there that would answer it, in the order of numbers."""

    setup: str
    folder: Path
    files: tuple[Path, ...] = ()


def folders(root: Path, setup: str, scope: str, integration_root: str) -> tuple[Path, ...]:
    """The folders in which a run looks for a scope's recordings, in its order."""
    store = Store(str(root), setup, "", integration_root)
    return tuple(Path(folder) for folder in store.folders(Scope(name=scope)))


def cells(project: Path) -> Iterator[Path]:
    """Folders of cells of all runs that are kept, those of the newest run first."""
    runs = project / RUNS
    found = [path for path in runs.iterdir() if path.is_dir()] if runs.is_dir() else []
    for run in sorted(found, key=lambda path: path.stat().st_mtime, reverse=True):
        yield from sorted((run / "cells").glob("*/"))


def scopes_of_runs(project: Path) -> Iterator[str]:
    """Names of scopes that the last few runs knew: of their tests, and of calls that were made or missed."""
    yield STACK_NAME
    runs: dict[Path, None] = {}
    for cell in cells(project):
        runs[cell.parent.parent] = None
        if len(runs) > _RUNS_READ:
            return
        for journal in ("tests", "calls", "misses"):
            for line in jsonfile.lines(cell / f"{journal}.jsonl"):
                if line is not None:
                    yield from jsonfile.strings(line, "nodeids")
                    yield from filter(None, (jsonfile.text(line, "scope"), jsonfile.text(line, "nodeid")))


def named(digest: str, names: Iterable[str]) -> str | None:
    """The name whose digest begins with these digits; None where none of `names` has it."""
    return next((name for name in names if Scope(name=name).digest.startswith(digest)), None)
