"""What runs left behind: folders of runs that were killed, recordings that were not kept, reports of faults of ours."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stackproof.doctor import locks
from stackproof.doctor.finding import Finding, odd, ok
from stackproof.doctor.place import Place
from stackproof.evidence import jsonfile
from stackproof.plan import RUNS
from stackproof.run import run_folder
from stackproof.stack.service import cache_folder

_SECONDS = 0.8  # for adding up
_LARGE = 2 << 30  # bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFacts:
    """killed: ids of runs whose process is gone. unpromoted: those among all that left answers which nobody kept.

    elsewhere: ids of runs that another machine started here. going: of those that run now. size: bytes below
    .stackproof, None where adding them up took too long. reports: texts about faults of Stackproof itself.
    locked: lock files of what is made once for this machine, each with the process that holds it.
    """

    number: int = 0
    killed: tuple[str, ...] = ()
    unpromoted: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    going: tuple[str, ...] = ()
    size: int | None = 0
    reports: tuple[str, ...] = ()
    locked: tuple[tuple[str, int], ...] = ()


def look(place: Place) -> RunFacts:
    """Read who owns the folders of runs."""
    runs = place.project / RUNS
    try:
        folders = sorted(path for path in runs.iterdir() if path.is_dir())
    except OSError:
        folders = []
    owned = {
        path.name: jsonfile.read(path / run_folder.OWNER) for path in folders if (path / run_folder.OWNER).exists()
    }
    going = run_folder.running(runs)
    here = socket.gethostname()
    elsewhere = tuple(name for name, owner in owned.items() if owner is not None and owner.get("host") != here)
    killed = tuple(name for name in owned if name not in going and name not in elsewhere)
    reports = sorted(runs.parent.glob("internal-error-*.txt"))
    return RunFacts(
        number=len(folders),
        killed=killed,
        unpromoted=tuple(name for name in killed if any((runs / name).glob("cells/*/staged/**/*.json"))),
        elsewhere=elsewhere,
        going=going,
        size=_size(runs.parent),
        reports=tuple(place.short(path) for path in reports),
        locked=tuple((place.short(path), pid) for path, pid in locks.held(cache_folder(place.environ).parent)),
    )


def judge(facts: RunFacts) -> Iterator[Finding]:
    """Is anything left that somebody should know of?"""
    for name in facts.killed:
        if name in facts.unpromoted:
            yield odd(
                "runs.unpromoted",
                f"run {name}",
                "was killed while it recorded, and has answers that were not kept",
                f"`stackproof recordings promote {name}` keeps those of tests that had passed",
            )
        else:
            yield odd(
                "runs.killed",
                f"run {name}",
                "was killed; processes of it may go on",
                "the next run ends them, and `stackproof stack down` removes its containers",
            )
    for name in facts.elsewhere:
        yield odd(
            "runs.elsewhere",
            f"run {name}",
            "was started on another machine, or before this one got its name, and has not said that it ended",
            f"if it goes on nowhere: `rm .stackproof/runs/{name}/{run_folder.OWNER}`",
        )
    if facts.reports:
        yield odd(
            "runs.reports",
            facts.reports[-1],
            f"tells of a fault of Stackproof itself{_more(len(facts.reports))}",
            "report it, with what `stackproof --version` says; then remove the file",
        )
    if facts.size is not None and facts.size > _LARGE:
        yield odd(
            "runs.size",
            ".stackproof",
            f"takes {facts.size >> 20} MB",
            "folders of runs that nobody needs may be removed; the last 20 are kept",
        )
    for name, pid in facts.locked:
        yield ok("runs.locked", name, f"is held by process {pid}, which makes something: whoever needs it waits")
    going = f", {len(facts.going)} of them now" if facts.going else ""
    size = "" if not facts.size else f" in {max(1, facts.size >> 20)} MB of .stackproof"
    yield ok("runs.kept", "runs", f"{facts.number or 'no'} run{'' if facts.number == 1 else 's'} kept{size}{going}")


def _more(number: int) -> str:
    return f", and {number - 1} more beside it" if number > 1 else ""


def _size(folder: Path) -> int | None:
    until, total = time.monotonic() + _SECONDS, 0
    for base, _, names in os.walk(folder):
        if time.monotonic() > until:
            return None
        for name in names:
            try:
                total += Path(base, name).lstat().st_size
            except OSError:
                continue
    return total
