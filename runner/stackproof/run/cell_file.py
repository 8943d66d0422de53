"""`cell.json`: what the process of a cell is told. Values of `--env` travel in its environment, not in the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from stackproof.errors import StackproofError
from stackproof.evidence import jsonfile
from stackproof.options import RunOptions, Source

NAME = "cell.json"
SCHEMA = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class CellOrder:
    """One cell of a run, to be carried out. orchestrator: the process whose death ends it.

    python: the one that the stack runs with; None: that of the run. tests: the same of the tests.
    """

    run_id: str
    cell_id: str
    project: Path
    orchestrator: int
    options: RunOptions
    python: Path | None = None
    tests: Path | None = None


def write(cell_dir: Path, order: CellOrder) -> Mapping[str, str]:
    """Write `cell_dir/cell.json`; the variables that the cell's process must have beside the caller's."""
    pairs = dict(text.split("=", 1) for text in order.options.env)
    jsonfile.write(
        cell_dir / NAME,
        {
            "schema": SCHEMA,
            "run_id": order.run_id,
            "cell": order.cell_id,
            "project": str(order.project),
            "orchestrator": order.orchestrator,
            "options": options_to_data(order.options),
            "python": None if order.python is None else str(order.python),
            "tests": None if order.tests is None else str(order.tests),
        },
    )
    return pairs


def read(cell_dir: Path, environ: Mapping[str, str]) -> CellOrder:
    """Read what `write` wrote; StackproofError when it is something else."""
    data = jsonfile.read(cell_dir / NAME)
    if data is None or data.get("schema") != SCHEMA:
        raise StackproofError(
            f"{cell_dir / NAME} is missing or was written by another version of Stackproof",
            hint="have one version for the tests and the run, and start the run again",
        )
    python, tests = jsonfile.text(data, "python"), jsonfile.text(data, "tests")
    return CellOrder(
        run_id=str(data["run_id"]),
        cell_id=str(data["cell"]),
        project=Path(data["project"]),
        orchestrator=int(data["orchestrator"]),
        options=options_of_data(jsonfile.table(data, "options"), environ),
        python=Path(python) if python else None,
        tests=Path(tests) if tests else None,
    )


def options_to_data(options: RunOptions) -> dict[str, Any]:
    """Options as JSON has them, without the values of `--env`."""
    return asdict(replace(options, env=tuple(text.partition("=")[0] for text in options.env)))


def options_of_data(data: Mapping[str, Any], environ: Mapping[str, str]) -> RunOptions:
    """What `options_to_data` made. environ: has the values of `--env`."""
    known = {field.name for field in fields(RunOptions)}
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in data.items() if name in known
    }
    values["sources"] = {name: Source(text) for name, text in jsonfile.table(data, "sources").items()}
    values["providers"] = {name: tuple(urls) for name, urls in jsonfile.table(data, "providers").items()}
    values["env"] = tuple(f"{name}={environ.get(name, '')}" for name in values.get("env", ()))
    return RunOptions(**values)
