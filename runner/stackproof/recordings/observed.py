"""What run folders say of the use of recordings: which cell, when, which tests, and what they asked for."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from stackproof.errors import UsageError
from stackproof.evidence import jsonfile, testlog
from stackproof.evidence.testlog import TestLog
from stackproof.plan import RUNS
from stackproof.recorder.mode import Mode
from stackproof.recorder.settings import Settings
from stackproof.recordings.promote import SETTINGS
from stackproof.stack import proctable

# What makes a run ask for less than its suite does. Arguments for pytest may do so too, and nobody can tell.
_NARROWING = ("file", "subdirs", "pattern", "pytest_args", "inject")


@dataclass(frozen=True, kw_only=True, slots=True)
class Observed:
    """One cell of one run.

    stack: as `--stack-config` has it. began, ended: seconds since the epoch. local: it ran in this project's folder on
    this machine, so its times compare with those of files. narrowed: only a part of its suite was asked for.
    recordings, suite_digest: what the folder of its setup and the files of its suite were, None where nobody said.
    """

    run: str
    cell: str
    folder: Path
    setup: str
    suite: str
    stack: str
    mode: Mode
    began: float
    ended: float
    local: bool
    narrowed: bool
    root: str
    recordings: str | None
    suite_digest: str | None
    log: TestLog

    @property
    def finished(self) -> bool:
        """Whether it came to its end: pytest said so."""
        return self.log.exitstatus is not None

    @property
    def whole(self) -> bool:
        """Whether it ran all that its suite had, to the end, from recordings."""
        collected = self.log.collected
        return (
            self.mode is Mode.REPLAY
            and self.finished
            and not self.narrowed
            and bool(collected)
            and all(nodeid in self.log.tests for nodeid in collected or ())
        )

    def calls(self) -> Iterator[Mapping[str, Any]]:
        """The provider calls, one after the other."""
        return (line for line in jsonfile.lines(self.folder / "calls.jsonl") if line is not None)

    def misses(self) -> Iterator[Mapping[str, Any]]:
        """The calls that had no answer."""
        return (line for line in jsonfile.lines(self.folder / "misses.jsonl") if line is not None)

    def fixtures(self) -> frozenset[str]:
        """The scopes of wider fixtures that were set up."""
        lines = jsonfile.lines(self.folder / "shared.jsonl")
        return frozenset(str(line["scope"]) for line in lines if line is not None and "scope" in line)

    def name_of(self, file: str) -> str:
        """A recording's path below the recording directory, from the path that the run had for it."""
        if file.startswith(f"{self.root}/"):
            return file[len(self.root) + 1 :]
        # A container sees the same files under another path.
        _, found, below = file.rpartition(f"/{self.setup}/")
        return f"{self.setup}/{below}" if found else file


def read(project: Path, root: Path, given: Iterable[Path] = ()) -> tuple[Observed, ...]:
    """Every cell that used the recording directory `root`, the newest first.

    given: folders with run folders in them, of this machine or of another (artefacts of a CI system), beside those of
    the project. UsageError when there is no such folder.
    """
    own = project.absolute() / RUNS
    found = {path.parent for path in own.glob(f"*/cells/*/{SETTINGS}")}
    for folder in given:
        if not folder.is_dir():
            raise UsageError(f"there is no folder {folder}", hint="--runs names a folder with run folders in it")
        found |= {path.parent for path in folder.absolute().rglob(SETTINGS) if path.parent.parent.name == "cells"}
    place = _place(str(root), str(project.absolute()))
    read_ones = (_read(folder, local=folder.is_relative_to(own)) for folder in sorted(found))
    usable = [one for one, where in filter(None, read_ones) if where == place]
    return tuple(sorted(usable, key=lambda one: one.began, reverse=True))


def _read(folder: Path, *, local: bool) -> tuple[Observed, str] | None:
    try:
        settings = Settings.from_json((folder / SETTINGS).read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError, KeyError):
        return None  # of another version, or cut off: it says nothing
    if settings.suite is None:
        return None
    result = jsonfile.read(folder / "result.json") or {}
    options = jsonfile.table(jsonfile.read(folder / "cell.json") or {}, "options")
    digests = jsonfile.table(result, "digests")
    first = (folder / "cell.json") if (folder / "cell.json").is_file() else folder / SETTINGS
    began = _seconds(result, "started") or first.stat().st_mtime
    observed = Observed(
        run=settings.run_id,
        cell=folder.name,
        folder=folder,
        setup=settings.setup,
        suite=settings.suite,
        stack=folder.name.removeprefix(f"{settings.suite}-{settings.setup}-").replace("-", ":", 1),
        mode=settings.mode,
        began=began,
        ended=_seconds(result, "stopped") or max(began, (folder / SETTINGS).stat().st_mtime),
        local=local,
        narrowed=any(options.get(name) for name in _NARROWING),
        root=settings.recordings,
        recordings=jsonfile.text(digests, "recordings"),
        suite_digest=jsonfile.text(digests, "suite"),
        log=testlog.read(folder / "tests.jsonl"),
    )
    return observed, _place(settings.recordings, settings.project)


def in_progress(project: Path) -> tuple[str, ...]:
    """Runs of a pytest that was called alone and has not ended: ids, with no lock to see them by."""
    found = []
    for path in sorted((project / RUNS).glob("*/cells/*/cell.json")):
        if (path.parent / "outcome.json").exists() or testlog.read(path.parent / "tests.jsonl").exitstatus is not None:
            continue
        pid = jsonfile.number(jsonfile.read(path) or {}, "orchestrator")
        if pid is not None and pid != os.getpid() and _is_pytest(pid):
            found.append(path.parent.parent.parent.name)
    return tuple(dict.fromkeys(found))


def _is_pytest(pid: int) -> bool:
    """Whether a process of this id runs tests now: ids are given out again."""
    entry = proctable.entry(pid)
    try:
        command = (proctable.PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return False
    return entry is not None and entry.running and b"pytest" in command


def _place(root: str, project: str) -> str:
    """The recording directory as seen from the project, so that the same one on another machine is the same."""
    relative = os.path.relpath(root, project) if project else root
    return root if relative.startswith("..") else relative


def _seconds(result: Mapping[str, Any], key: str) -> float | None:
    try:
        return datetime.fromisoformat(jsonfile.text(result, key) or "").timestamp()
    except ValueError:
        return None
