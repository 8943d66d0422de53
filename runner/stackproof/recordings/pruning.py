"""Removes recordings that nobody asks for any more, and what belongs to no recording. Never what was not observed."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stackproof.errors import UsageError
from stackproof.plan import RUNS
from stackproof.recorder import recording
from stackproof.recordings import corpus, leftovers, observed
from stackproof.recordings.corpus import Entry
from stackproof.recordings.disuse import Disuse
from stackproof.recordings.findings import Kind
from stackproof.recordings.observed import Observed
from stackproof.recordings.query import Query
from stackproof.recordings.usage import Usage, Use
from stackproof.run import run_folder
from stackproof.verdict.policy import PATH


@dataclass(frozen=True, kw_only=True, slots=True)
class Removal:
    """One file that is to go. name: its path below the recording directory. scope: whose it is, empty where it is
    nobody's. state: size and time of change when it was looked at; a file that is another one by then stays.
    """

    path: Path
    name: str
    kind: Kind
    scope: str
    why: str
    state: tuple[int, int]


@dataclass(kw_only=True, slots=True)
class Picked:
    """What a walk over the files found. changed: setup × suite → when its newest recording came to be what it is.

    unobserved: by setup, suites and reason; all of them stay.
    """

    files: int = 0
    removals: list[Removal] = field(default_factory=list)
    changed: dict[tuple[str, str], float] = field(default_factory=dict)
    unobserved: Counter[tuple[str, str, str]] = field(default_factory=Counter)


def refuse_while_running(project: Path) -> None:
    """UsageError where a run goes on now: it may be writing, and may ask for anything."""
    going_on = (*run_folder.running(project / RUNS), *observed.in_progress(project))
    if going_on:
        raise UsageError(
            f"run {going_on[0]} is in progress, so nothing is removed", hint="prune again when it has ended"
        )


def pick(root: Path, query: Query, paths: Iterable[Path], disuse: Disuse) -> Picked:
    """Look at the files at `paths` (those of `leftovers.files`) and pick those that are to go."""
    picked = Picked()
    for path in paths:
        if leftovers.is_recording(path):
            entry = corpus.read(path, root)
            if query.matches(entry):
                picked.files += 1
                _judge(entry, disuse, picked)
        elif not query.is_narrow and (left := leftovers.leftover(path)) is not None:
            picked.removals.append(_removal(path, root, left[0], "", left[1]))
    return picked


def _judge(entry: Entry, disuse: Disuse, picked: Picked) -> None:
    if entry.content is None:
        return  # whose it was is not known; restoring it is what it needs
    kind, judged = disuse.of(entry)
    changed = entry.path.stat().st_ctime
    for suite in judged.suites:
        key = (entry.setup, suite)
        picked.changed[key] = max(changed, picked.changed.get(key, changed))
    if kind is not None:
        root = entry.path.parents[entry.name.count("/")]
        picked.removals.append(_removal(entry.path, root, kind, entry.scope, judged.why))
    elif judged.use is Use.UNOBSERVED:
        picked.unobserved[entry.setup, ", ".join(judged.suites), judged.why] += 1


def _removal(path: Path, root: Path, kind: Kind, scope: str, why: str) -> Removal:
    name = path.relative_to(root).as_posix()
    return Removal(path=path, name=name, kind=kind, scope=scope, why=why, state=_state(path))


def refuse_unobserved(picked: Picked, disuse: Disuse, wanted: Mapping[str, tuple[str, ...]], program: str) -> None:
    """UsageError where a suite has recordings that no whole run from them has been seen with since they last changed.

    wanted: suites that the filters name; none asks for all.
    """
    for (setup, suite), changed in sorted(picked.changed.items()):
        if wanted and suite not in wanted:
            continue
        lacking = disuse.usage.lacking(suite, setup, changed)
        if lacking == [_UNKNOWN]:
            raise UsageError(
                f"nothing is removed: suite {suite!r} has not run in full from the recordings of {setup} as they are "
                "now",
                hint=f"run it: {program} --suite {suite} --setup {setup}",
            )
        if lacking:
            raise UsageError(
                f"nothing is removed: suite {suite!r} has not run in full on {_all_of(lacking)} from the recordings of "
                f"{setup} as they are now",
                hint="\n".join(_next(disuse.usage, suite, setup, lacking, program)),
            )


_UNKNOWN = "?"


def _next(usage: Usage, suite: str, setup: str, stacks: Iterable[str], program: str) -> Iterator[str]:
    """For each stack why it has to be seen, how that is done, and how it is forgotten where nobody uses it any more."""
    for stack in stacks:
        runs = usage.runs(suite, setup, stack)
        listed = (suite, setup, stack) in usage.listed
        why = f"{PATH.as_posix()} lists it" if listed else f"run {runs[0].run} used it" if runs else "it is known"
        yield f"{stack}: {why}, so what it asks for has to be seen first:"
        yield f"  {program} --suite {suite} --setup {setup} --stack-config {stack}"
        if runs and not listed:
            folders = " ".join(_folder(one) for one in runs)
            yield f"  or, where {stack} is used no more, forget what it ran: rm -r {folders}"


def _folder(one: Observed) -> str:
    run_dir = one.folder.parents[1]
    return (RUNS / one.run).as_posix() if one.local else str(run_dir)


def _all_of(stacks: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(stacks[:-1]), stacks[-1])))


def remove(removals: Iterable[Removal], root: Path) -> Generator[Removal, None, None]:
    """Remove the files one by one, each whole; gives those that are gone. Folders that are left empty go too."""
    folders: set[Path] = set()
    for one in removals:
        if _state(one.path) != one.state:
            continue  # written anew since it was looked at
        if leftovers.is_recording(one.path):
            recording.remove(str(one.path))
        else:
            with contextlib.suppress(FileNotFoundError):
                one.path.unlink()
        folders.add(one.path.parent)
        yield one
    for folder in folders:
        _remove_empty(folder, root)


def _remove_empty(folder: Path, root: Path) -> None:
    while folder != root and folder.is_relative_to(root):
        try:
            folder.rmdir()
        except OSError:
            return  # something is in it
        folder = folder.parent


def _state(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return -1, -1
    return found.st_size, found.st_mtime_ns
