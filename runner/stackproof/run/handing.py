"""Which cells of a run may have one container, one after another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stackproof.catalog.records import StackMode
from stackproof.plan import Cell
from stackproof.stack import handover
from stackproof.stack.handover import Handover


def of(cell: Cell, cells: Sequence[Cell], run_dir: Path) -> Handover | None:
    """What `cell` takes over and leaves, where its stack allows that and another of `cells` could have the same.

    cells: of the run, in their order. All of them have one mode of recording, so they need the same of a network; what
    differs between their setups are variables. A cell with containers beside its stack has one for itself: what those
    hold is its own.
    """
    alike = [item.id for item in cells if _may_share(item) and item.stack.name == cell.stack.name]
    if cell.id not in alike or len(alike) == 1:
        return None
    path = run_dir / handover.FOLDER / f"{cell.stack.name}.json"
    return Handover(path, follows=cell.id != alike[-1])


def _may_share(cell: Cell) -> bool:
    docker = cell.stack.docker
    return cell.mode is StackMode.DOCKER and docker is not None and docker.shared and not cell.containers
