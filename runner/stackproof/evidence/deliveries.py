"""Which pieces of evidence are about the same cell, and which of them are one and the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from stackproof.evidence import jsonfile
from stackproof.evidence.read import CellFacts
from stackproof.evidence.times import Span

_ALIKE = {
    "commit": "commit",
    "policy": "policy",
    "suite_digest": "files of the suite",
    "recordings_digest": "recordings",
    "inference_mode": "mode",
    "suite": "suite",
    "setup": "setup",
    "stack": "stack",
    "runner": "runner",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Delivery:
    """A cell's folder in one run folder. origin: the run folder, as people call it. cell: without what tests said."""

    origin: str
    path: Path
    cell: CellFacts

    @property
    def name(self) -> str:
        """`shard 3/8`, or the cell's id where it is none."""
        return self.cell.id if self.cell.shard is None else self.cell.shard.name

    @property
    def finished(self) -> bool:
        """Whether whoever ran it wrote down how it ended."""
        return self.cell.result and self.cell.exit_code is not None

    @property
    def order(self) -> tuple[object, ...]:
        """The same for the same evidence, wherever it lies: no clock, and not the order in which folders are named."""
        shard, cell = self.cell.shard, self.cell
        place = (0, 0) if shard is None else (shard.total, shard.index)
        known = tuple(each or "" for each in (cell.run_id, *cell.digests))
        return (*place, not self.finished, known, self.origin)

    @property
    def span(self) -> Span:
        """When it ran. Cells of one run folder had one clock; a shard may have run anywhere."""
        cell, shard = self.cell, self.cell.shard
        clock = f"{self.origin}/{cell.machine}" if shard is None else f"{self.origin}/{cell.id}"
        name = cell.id if shard is None else f"{shard.name} of {shard.whole}"
        return Span(clock=clock, name=f"{name} in {self.origin}", started=cell.started, stopped=cell.stopped)


def of_cells(found: Iterable[Delivery]) -> dict[str, list[Delivery]]:
    """By the id of the whole cell, each in an order of its own."""
    cells: dict[str, list[Delivery]] = {}
    for each in found:
        shard = each.cell.shard
        cells.setdefault(each.cell.id if shard is None else shard.whole, []).append(each)
    return {name: sorted(cells[name], key=lambda each: each.order) for name in sorted(cells)}


def once(found: Sequence[Delivery]) -> tuple[list[Delivery], list[tuple[Delivery, Delivery]]]:
    """Those that differ, and of those that are the same the one that counts and the one that does not."""
    kept: dict[tuple[object, ...], Delivery] = {}
    same: list[tuple[Delivery, Delivery]] = []
    for each in found:
        report = each.cell.digests[0] if each.cell.digests else None
        key = (each.cell.id, each.cell.run_id, *each.cell.digests) if report is not None else (each.origin, each.path)
        if key in kept:
            same.append((kept[key], each))
        else:
            kept[key] = each
    return list(kept.values()), same


def disagreements(found: Sequence[Delivery]) -> Iterator[str]:
    """What some say otherwise than most: of which commit they are, say."""
    for field, word in _ALIKE.items():
        yield from _others(word, [(each.name, getattr(each.cell, field)) for each in found])
    shards = [(each.name, shard) for each in found if (shard := each.cell.shard) is not None and shard.partition]
    yield from _others("division of the tests", [(name, shard.partition) for name, shard in shards])
    yield from _others("number of tests", [(name, str(shard.tests)) for name, shard in shards])


def of_other_versions(found: Sequence[Delivery]) -> Iterator[str]:
    """What some ran with in another version than most."""
    if len({each.cell.versions for each in found}) < 2:
        return
    said = [(each.name, jsonfile.parsed(each.cell.versions) or {}) for each in found]
    for what in sorted({what for _, versions in said for what in versions}):
        yield from _others(f"version of {what}", [(name, jsonfile.text(versions, what)) for name, versions in said])


def _others(word: str, said: Sequence[tuple[str, str | None]]) -> Iterator[str]:
    by: dict[str | None, list[str]] = {}
    for name, value in said:
        by.setdefault(value, []).append(name)
    if len(by) < 2:
        return
    (most, _), *others = sorted(by.items(), key=lambda item: (-len(item[1]), str(item[0])))
    for value, names in others:
        yield f"{listed(names)}: another {word} than the others, {_short(value)} and not {_short(most)}"


def listed(names: Iterable[str], shown: int = 5) -> str:
    """`shard 1/8, shard 3/8`: each once, and how many more."""
    every = list(dict.fromkeys(names))
    more = f" and {len(every) - shown} more" if len(every) > shown else ""
    return ", ".join(every[:shown]) + more


def _short(value: str | None) -> str:
    if value is None:
        return "none"
    return value[:7] if len(value) >= 40 else value
