"""What the processes of a cell said of themselves: which were measured, and which of them wrote what they had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackproof.catalog.records import StackMode
from stackproof.errors import StackproofError, UsageError
from stackproof.evidence import jsonfile
from stackproof.evidence.coverage import FOLDER, STACK
from stackproof.measure import begin, package
from stackproof.plan import Cell
from stackproof.recorder.serve import measure
from stackproof.stack import start

_HINT = "install there what the project's configuration of coverage names, or leave --coverage out"


@dataclass(frozen=True, kw_only=True, slots=True)
class Processes:
    """Of a cell's tests, or of its stack, by how it went with each. missing, refused: the Python, and why."""

    saved: int = 0
    started: int = 0
    missing: Sequence[str] = ()
    refused: Sequence[tuple[str, str]] = ()

    @property
    def measured(self) -> int:
        """Processes in which coverage ran, also those that were ended before they could write anything."""
        return self.saved + self.started

    @property
    def without(self) -> int:
        """Processes that could not be measured."""
        return len(self.missing) + len(self.refused)


def read(cell_dir: Path, who: str) -> Processes:
    """The marks of `who` in a cell's folder."""
    found = [jsonfile.read(path) or {} for path in sorted((cell_dir / FOLDER / begin.MARKS).glob("*.json"))]
    states = [(item.get("state"), item) for item in found if item.get("who") == who]

    def of(state: str) -> list[Mapping[str, Any]]:
        return [item for each, item in states if each == state]

    return Processes(
        saved=len(of(measure.SAVED)),
        started=len(of(measure.STARTED)),
        missing=tuple(dict.fromkeys(str(item.get("python")) for item in of(measure.MISSING))),
        refused=tuple(dict.fromkeys((str(item.get("python")), str(item.get("why"))) for item in of(measure.REFUSED))),
    )


def problem(cell: Cell, cell_dir: Path, who: str) -> StackproofError | None:
    """Why nothing of `who` can be measured, where its processes say so; None else, also before they say anything."""
    found = read(cell_dir, who)
    inside = cell.mode is StackMode.DOCKER_LIBRARY or (cell.mode is StackMode.DOCKER and who == STACK)
    where = f" of the container of {cell.stack.name!r}" if inside else ""
    if found.measured or not found.without:
        return None
    if found.missing:
        return package.lacking(f"{found.missing[0]}{where}")
    python, why = found.refused[0]
    return UsageError(f"--coverage: {python}{where} cannot be measured: {why}", hint=_HINT)


def facts(cell: Cell, cell_dir: Path, who: str) -> dict[str, Any] | None:
    """`problem` as `outcome.json` holds it."""
    found = problem(cell, cell_dir, who)
    return None if found is None else start.error_facts(found)
