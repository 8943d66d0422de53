"""What has to be there before a cell begins, as a sealed cell can fetch nothing: packages, built programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from stackproof.catalog.records import StackMode
from stackproof.plan import Cell
from stackproof.stack import prepared


def of_cell(
    cell: Cell,
    *,
    tests: bool,
    environment: Mapping[str, str],
    say: Callable[[str], None],
    check: Callable[[], None],
) -> None:
    """Prepare the stack's folder and, where `tests` run, that of a runner. Raises what `prepared.make` raises."""
    stack, runner = cell.stack, cell.suite.runner
    if stack.prepare is not None and cell.mode is not StackMode.REMOTE:
        prepared.make(stack.name, stack.prepare, stack.folder, environment=environment, say=say, check=check)
    if tests and runner is not None and runner.prepare is not None:
        name = f"{cell.suite.name}-tests"
        prepared.make(name, runner.prepare, runner.folder, environment=environment, say=say, check=check)


def placed(cell: Cell, environment: Mapping[str, str]) -> Cell:
    """The cell as its server runs: in a copy of the stack's folder, where something was made of that first."""
    # An image is made of the folder itself.
    if cell.mode is not StackMode.SERVER or cell.stack.prepare is None:
        return cell
    return replace(cell, stack=prepared.stack(cell.stack, environment=environment))
