"""The evidence of several run folders, of several machines say, as one. Adding a folder never makes anything better.

What is there twice and the same counts once. A cell whose tests are spread over folders (shards) is put together;
where two folders disagree about the same thing, both count, and that they disagree is said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from stackproof.evidence import jsonfile, junit_cases, live, read, testlog
from stackproof.evidence.manifest import ManifestFacts
from stackproof.evidence.read import CellFacts, Evidence
from stackproof.evidence.recordings import Misses

_ASKED = ("typecheck", "benchmark", "recordings", "claims")
_SEALS = ("namespace", "tripwire")  # from the best to the worst; anything else is worse
Value = TypeVar("Value")


@dataclass(frozen=True, kw_only=True, slots=True)
class Folder:
    """One run folder, by the name that people gave."""

    name: str
    path: Path
    evidence: Evidence


def gather(run_dirs: Sequence[Path]) -> Evidence:
    """Everything in `run_dirs`; a folder that is named twice is read once."""
    notes: list[str] = []
    folders: list[Folder] = []
    distinct = {path.resolve(): path for path in reversed(run_dirs)}
    alike = Counter(path.name for path in distinct)
    for path in run_dirs:
        place = path.resolve()
        name = place.name if alike[place.name] == 1 else f"{place.parent.name}/{place.name}"
        if distinct.pop(place, None) is None:
            notes.append(f"{name} is named twice and counts once")
        else:
            folders.append(Folder(name=name, path=path, evidence=read.read(path)))
    if len(folders) == 1:
        return replace(folders[0].evidence, notes=(*folders[0].evidence.notes, *notes))
    contradictions: list[str] = []
    cells: dict[str, CellFacts] = {}
    origins: dict[str, str] = {}
    for folder in folders:
        for name, cell in folder.evidence.cells.items():
            if cell.run_id != folder.evidence.manifest.run_id:
                run = folder.evidence.manifest.run_id
                contradictions.append(f"{name} in {folder.name} is of run {cell.run_id}, its manifest of run {run}")
            if name not in cells:
                cells[name], origins[name] = cell, folder.name
            elif _same(cells[name], cell):
                notes.append(f"cells/{name} is the same in {origins[name]} and {folder.name} and counts once")
            else:
                if twice := _twice(cells[name], cell):
                    contradictions.append(
                        f"{name} is different in {origins[name]} and {folder.name}: {twice} tests are in both"
                    )
                else:
                    notes.append(f"{name} is put together from {origins[name]} and {folder.name}")
                cells[name] = _together(cells[name], cell)
                origins[name] = f"{origins[name]}, {folder.name}"
    checks = {what: _one(what, folders, contradictions) for what in _ASKED}
    notes.append(_times(folders))
    return Evidence(
        manifest=_manifests([folder.evidence.manifest for folder in folders], [folder.name for folder in folders]),
        cells=dict(sorted(cells.items())),
        notes=tuple(notes),
        contradictions=tuple(contradictions),
        live=live.together(folder.evidence.live for folder in folders),
        **checks,
    )


def _same(first: CellFacts, second: CellFacts) -> bool:
    return first.report_digest is not None and (first.report_digest, first.run_id) == (
        second.report_digest,
        second.run_id,
    )


def _twice(first: CellFacts, second: CellFacts) -> int:
    """How many tests both have an outcome of, or were collected in both."""
    names = [{*cell.log.tests, *(cell.log.collected or ())} for cell in (first, second)]
    return len(names[0] & names[1])


def _together(first: CellFacts, second: CellFacts) -> CellFacts:
    """A cell of two folders: all tests of both, and of everything else the worse."""
    codes = (first.exit_code, second.exit_code)
    seals = sorted(
        (_SEALS.index(s) if s in _SEALS else len(_SEALS), s) for s in (first.sealed or "", second.sealed or "")
    )
    report = replace(
        first.report,
        cases=junit_cases.Cases.of([*first.report.cases, *second.report.cases]),
        problems=(*first.report.problems, *second.report.problems),
        notes=(*first.report.notes, *second.report.notes),
    )
    return replace(
        first,
        result=first.result and second.result,
        run_id=_both(first.run_id, second.run_id, "+"),
        commit=_agreed(first.commit, second.commit),
        dirty=first.dirty or second.dirty,
        policy=_agreed(first.policy, second.policy),
        suite_digest=_agreed(first.suite_digest, second.suite_digest),
        recordings_digest=_agreed(first.recordings_digest, second.recordings_digest),
        inference_mode=_agreed(first.inference_mode, second.inference_mode),
        injected=tuple(dict.fromkeys((*first.injected, *second.injected))),
        exit_code=None if None in codes else max(code for code in codes if code is not None),
        signal=first.signal or second.signal,
        error=first.error or second.error,
        sealed=seals[-1][1] or None,
        report=report,
        report_digest=None,
        log=testlog.together(first.log, second.log),
        misses=Misses(
            damaged=(*first.misses.damaged, *second.misses.damaged),
            network=(*first.misses.network, *second.misses.network),
            tests=first.misses.tests | second.misses.tests,
        ),
        started=min(filter(None, (first.started, second.started)), default=None),
        stopped=max(filter(None, (first.stopped, second.stopped)), default=None),
    )


def _agreed(first: Value | None, second: Value | None) -> Value | None:
    """What both say; nothing where they differ, which no expectation is met by."""
    return first if first == second else None


def _both(first: str | None, second: str | None, between: str) -> str | None:
    named = [each for each in (first, second) if each]
    return between.join(dict.fromkeys(part for each in named for part in each.split(between))) or None


def _one(what: str, folders: Iterable[Folder], contradictions: list[str]) -> Any:
    """A check that runs once for all cells: that of the folder that has it."""
    having = [(folder, facts) for folder in folders if (facts := getattr(folder.evidence, what)) is not None]
    if not having:
        return None
    first, facts = having[0]
    for folder, other in having[1:]:
        if other != facts and not _alike(what, first, folder):
            contradictions.append(f"checks/{what}.json is different in {first.name} and {folder.name}")
    return facts


def _alike(what: str, first: Folder, second: Folder) -> bool:
    """Whether both folders list the very same files for a check; what is not as it is listed is found elsewhere."""
    listed = [
        {name: digest for name, digest in each.evidence.manifest.files.items() if name.startswith(f"checks/{what}")}
        for each in (first, second)
    ]
    return bool(listed[0]) and listed[0] == listed[1]


def _manifests(manifests: Sequence[ManifestFacts], names: Sequence[str]) -> ManifestFacts:
    """One for all: whose files are named with their folder, and which belongs to a commit only where all do."""
    run_id: str | None = None
    for each in manifests:
        run_id = _both(run_id, each.run_id, "+")
    return ManifestFacts(
        run_id=run_id,
        commit=manifests[0].commit if len({each.commit for each in manifests}) == 1 else None,
        dirty=any(each.dirty for each in manifests),
        policy=manifests[0].policy if len({each.policy for each in manifests}) == 1 else None,
        nodeids={
            cell: tuple(dict.fromkeys(nodeid for each in manifests for nodeid in each.nodeids.get(cell, ())))
            for cell in dict.fromkeys(cell for each in manifests for cell in each.nodeids)
        },
        files={
            f"{name}/{file}": digest
            for name, each in zip(names, manifests, strict=True)
            for file, digest in each.files.items()
        },
        damage=tuple(damage for each in manifests for damage in each.damage),
    )


def _times(folders: Sequence[Folder]) -> str:
    """How long it took from the first to the last, and how long if one had come after the other."""
    spans = [
        (_moment(cell.started), _moment(cell.stopped)) for folder in folders for cell in folder.evidence.cells.values()
    ]
    known = [(start, stop) for start, stop in spans if start is not None and stop is not None]
    machines = {str(_environment(folder.path, name)) for folder in folders for name in folder.evidence.cells}
    names = ", ".join(folder.name for folder in folders)
    said = f"{names}: {len(folders)} runs of {len(machines)} machine{'' if len(machines) == 1 else 's'}"
    if not known:
        return said
    wall = (max(stop for _, stop in known) - min(start for start, _ in known)).total_seconds()
    summed = sum((stop - start).total_seconds() for start, stop in known)
    return f"{said}, {wall:.0f} s from the first start to the last end, {summed:.0f} s of cells in all"


def _environment(run_dir: Path, cell: str) -> Mapping[str, Any]:
    return jsonfile.table(jsonfile.read(run_dir / "cells" / cell / "result.json") or {}, "environment")


def _moment(text: str | None) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None
