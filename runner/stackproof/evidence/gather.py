"""The evidence of several run folders, of several machines say, as one. Adding a folder never makes anything better.

What is there twice and the same counts once. A cell whose tests are spread over folders is put together, shards of it
also within one folder; where two folders disagree about the same thing, both count, and that they disagree is said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from stackproof.evidence import deliveries, heads, jsonfile, lane_plans, live, read, times, whole
from stackproof.evidence.deliveries import Delivery
from stackproof.evidence.manifest import ManifestFacts
from stackproof.evidence.putting import Expected
from stackproof.evidence.read import CellFacts, Evidence
from stackproof.evidence.times import Times
from stackproof.plaintext import counted

_ASKED = ("typecheck", "benchmark", "recordings", "claims")
_TOLD = 20  # sentences of one kind
_NAMED = 5  # folders


@dataclass(frozen=True, kw_only=True, slots=True)
class Folder:
    """One run folder, by the name that people gave. evidence: of its cells, without what tests said."""

    name: str
    path: Path
    evidence: Evidence


def gather(run_dirs: Sequence[Path]) -> Evidence:
    """Everything in `run_dirs`; a folder that is named twice is read once."""
    folders, notes = _folders(run_dirs)
    contradictions = list(_of_other_runs(folders))
    found, same = deliveries.once(
        [
            Delivery(origin=folder.name, path=folder.path / "cells" / name, cell=cell)
            for folder in folders
            for name, cell in folder.evidence.cells.items()
        ]
    )
    notes += _some(
        f"cells/{first.cell.id} is the same in {first.origin} and {other.origin} and counts once"
        for first, other in same
    )
    expected = _expecting(folders)
    cells: dict[str, CellFacts] = {}
    for name, parts in deliveries.of_cells(found).items():
        put = whole.put_together(name, parts, expected)
        cells[name] = put.cell
        notes += put.notes
        contradictions += put.contradictions
    took = times.of(each.span for each in found)
    if len(folders) == 1:
        one = folders[0].evidence
        notes += [*lane_plans.notes([(folders[0].name, folders[0].path)]), *_clocks(took)]
        if took.summed is not None and any(cell.shards is not None for cell in cells.values()):
            notes.append(took.words())
        contradictions += one.contradictions
        return replace(one, cells=cells, times=took, notes=tuple(notes), contradictions=tuple(contradictions))
    checks: dict[str, Any] = {what: _one(what, folders, contradictions) for what in _ASKED}
    notes += [*lane_plans.notes((folder.name, folder.path) for folder in folders), _ran(folders, took), *_clocks(took)]
    return Evidence(
        manifest=_manifests(folders),
        cells=cells,
        times=took,
        notes=tuple(notes),
        contradictions=tuple(contradictions),
        live=live.together(folder.evidence.live for folder in folders),
        **checks,
    )


def _folders(run_dirs: Sequence[Path]) -> tuple[list[Folder], list[str]]:
    """Each folder once, by name, and what is to be said of those that are named twice."""
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
            folders.append(Folder(name=name, path=path, evidence=read.outline(path)))
    return sorted(folders, key=lambda folder: folder.name), list(_some(notes))


def _of_other_runs(folders: Sequence[Folder]) -> Iterator[str]:
    if len(folders) == 1:
        return  # which the cell's own rule says
    for folder in folders:
        run = folder.evidence.manifest.run_id
        for name, cell in folder.evidence.cells.items():
            if run is not None and cell.result and cell.run_id != run:
                yield f"{name} in {folder.name} is of run {cell.run_id}, its manifest of run {run}"


def _expecting(folders: Sequence[Folder]) -> Expected:
    """Which folders list a cell in their manifest, or have it in their plan. Looked at once something is missing."""

    @cache
    def places() -> dict[str, list[str]]:
        known: dict[str, list[str]] = {}
        for folder in folders:
            listed = {name.split("/")[1] for name in folder.evidence.manifest.files if name.startswith("cells/")}
            planned = (jsonfile.read(folder.path / "plan.json") or {}).get("cells")
            ids = {each.get("id") for each in planned if isinstance(each, dict)} if isinstance(planned, list) else set()
            for cell in listed | {each for each in ids if isinstance(each, str)}:
                known.setdefault(cell, []).append(folder.name)
        return known

    return lambda cell: tuple(places().get(cell, ()))


def _clocks(took: Times) -> Iterator[str]:
    yield from _some(
        f"{name} ended before it began, by its clock: how long it took is not known" for name in took.wrong
    )


def _ran(folders: Sequence[Folder], took: Times) -> str:
    """How many runs there are, and what they took."""
    machines = {cell.machine for folder in folders for cell in folder.evidence.cells.values()}
    names = ", ".join(folder.name for folder in folders[:_NAMED])
    more = f" and {len(folders) - _NAMED} more" if len(folders) > _NAMED else ""
    said = f"{names}{more}: {len(folders)} runs of {counted(len(machines), 'kind of machine', 'kinds of machines')}"
    return ", ".join(filter(None, (said, took.words())))


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


def _manifests(folders: Sequence[Folder]) -> ManifestFacts:
    """One for all: whose files are named with their folder, and which belongs to a commit only where all do."""
    manifests = [folder.evidence.manifest for folder in folders]
    # A folder without a manifest says nothing of commit and policy; that it has none is damage enough.
    said = [each for each in manifests if each.run_id is not None]
    return ManifestFacts(
        run_id=heads.runs(each.run_id for each in said if each.run_id),
        commit=said[0].commit if len({each.commit for each in said}) == 1 else None,
        dirty=any(each.dirty for each in manifests),
        policy=said[0].policy if len({each.policy for each in said}) == 1 else None,
        files={
            f"{folder.name}/{file}": digest
            for folder in folders
            for file, digest in folder.evidence.manifest.files.items()
        },
        damage=tuple(replace(each, run=folder.name) for folder in folders for each in folder.evidence.manifest.damage),
    )


def _some(texts: Iterable[str]) -> Iterator[str]:
    """The first of very many."""
    every = iter(texts)
    yield from islice(every, _TOLD)
    if more := sum(1 for _ in every):
        yield f"… and {more} more like these"
