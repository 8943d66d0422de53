"""Cells of which a job has run a part, as the rules of the verdict take them: each for the whole of what it had to do.

What a part shows is that its own tests did what is expected of them. That all tests were in some part, once, only the
verdict over all parts can say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from stackproof.evidence import read, times
from stackproof.evidence.read import CellFacts, Evidence
from stackproof.evidence.times import Span
from stackproof.lanes.records import Lane
from stackproof.shards.records import Shard
from stackproof.verdict.current import Current
from stackproof.verdict.expected import Expectation
from stackproof.verdict.records import Rule

_CELL = "cell:"


def of_run(run_dir: Path) -> Evidence:
    """The evidence of a job as its folders are: a part of a cell has one of its own, the others are not waited for."""
    found = read.read(run_dir)
    # All of it ran here, so that one clock saw it.
    spans = (Span(clock="", name=cell.id, started=cell.started, stopped=cell.stopped) for cell in found.cells.values())
    return replace(found, times=times.of(spans))


def folder(cell: str, parts: Mapping[str, Shard]) -> str:
    """The name under which a cell has run: `base-ollama-server-reference.1of2`, where it is one of these."""
    return f"{cell}.{parts[cell].slug}" if cell in parts else cell


def idle(evidence: Evidence, parts: Mapping[str, Shard]) -> frozenset[str]:
    """Cells whose part has no test, since there were fewer than parts, or none that could pass.

    Either is a part like others: whether anything was executed is asked of all parts together.
    """
    found = {cell: evidence.cells.get(folder(cell, parts)) for cell in parts}
    return frozenset(name for name, cell in found.items() if cell is not None and _is_idle(cell))


def _is_idle(cell: CellFacts) -> bool:
    counts = cell.log.counts
    return counts.collected == counts.total == counts.skipped + counts.xfailed


def without(lane: Lane, cells: frozenset[str]) -> Lane:
    """The lane with these cells not as the policy asks for them, so that only how they ended counts."""
    return replace(
        lane, cells=tuple(replace(each, wanted=False) if each.cell.id in cells else each for each in lane.cells)
    )


def as_wholes(evidence: Evidence, parts: Mapping[str, Shard]) -> Evidence:
    """The same evidence, with each part under the name of its cell."""
    by_folder = {folder(cell, parts): cell for cell in parts}
    return replace(
        evidence,
        cells={
            by_folder.get(name, name): replace(cell, id=by_folder[name], shard=None) if name in by_folder else cell
            for name, cell in evidence.cells.items()
        },
    )


def narrowed(current: Current, evidence: Evidence, parts: Mapping[str, Shard]) -> Current:
    """What is expected of the tests that each part has; evidence: with each part under the name of its cell."""
    expected = {
        name: _own(wanted, evidence.cells[name])
        if wanted is not None and name in parts and name in evidence.cells
        else wanted
        for name, wanted in current.expected.items()
    }
    return replace(current, expected=expected)


def placed(rule: Rule, parts: Mapping[str, Shard]) -> Rule:
    """The rule with the evidence where it lies, and which part of a cell it is about."""
    if not parts:
        return rule
    cells = {f"cells/{cell}/": f"cells/{folder(cell, parts)}/" for cell in parts}
    part = parts.get(rule.id.removeprefix(_CELL)) if rule.id.startswith(_CELL) else None
    title = rule.title if part is None else f"{rule.title} · shard {part}"
    return replace(rule, title=title, evidence=tuple(_moved(path, cells) for path in rule.evidence))


def _moved(path: str, folders: Mapping[str, str]) -> str:
    start = next((start for start in folders if path.startswith(start)), None)
    return path if start is None else folders[start] + path.removeprefix(start)


def _own(wanted: Expectation, cell: CellFacts) -> Expectation:
    return replace(wanted, nodeids=wanted.nodeids & frozenset(cell.log.collected or ()))
