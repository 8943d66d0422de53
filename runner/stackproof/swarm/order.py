"""What the tasks of a run are told: `order.json` in the archive that each of them fetches. Nothing secret is in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stackproof.errors import StackproofError
from stackproof.options import RunOptions, Source
from stackproof.plan import Cell
from stackproof.run import cell_file

SCHEMA = 1
HOME = Path("/stackproof")
"""Where Stackproof lies in a task; its package is in `lib`."""
LIBRARY = HOME / "lib"
PLACE = HOME / "order.json"
SECRET = "stackproof"  # noqa: S105 - the name of a file
"""The file in /run/secrets: JSON, `token` and `variables`."""

# Of the environment of a task; the stack and its tests do not see them.
TASK = "STACKPROOF_TASK"
"""`{{.Task.Slot}} {{.Node.ID}} {{.Node.Hostname}}`, filled in by the engine."""
PIECES = "STACKPROOF_PIECES"
"""By slot: `piece.attempt`, separated by commas."""
DEPOT = "STACKPROOF_DEPOT"
"""Its URL."""
TEMPLATE = "{{.Task.Slot}} {{.Node.ID}} {{.Node.Hostname}}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """A run, as its tasks know it. pieces: the options of each, by number. every: seconds between two signs of life.

    owner: user and group id that the tests run as, as they would where the run was started.
    """

    run_id: str
    project: Path
    pieces: tuple[RunOptions, ...]
    every: float
    owner: tuple[int, int]

    def to_json(self) -> bytes:
        """As it lies in the archive."""
        data = {
            "schema": SCHEMA,
            "run_id": self.run_id,
            "project": str(self.project),
            "pieces": [cell_file.options_to_data(options) for options in self.pieces],
            "every": self.every,
            "owner": list(self.owner),
        }
        return json.dumps(data).encode()


def read(text: bytes, variables: Mapping[str, str]) -> Order:
    """Read what `to_json` wrote. variables: those of `--env`, whose values are not in it."""
    data: dict[str, Any] = json.loads(text)
    if data.get("schema") != SCHEMA:
        raise StackproofError(
            "the order of this task was written by another version of Stackproof",
            hint="build the image of the shards anew, with the version that starts them",
        )
    user, group = data["owner"]
    return Order(
        run_id=str(data["run_id"]),
        project=Path(data["project"]),
        pieces=tuple(cell_file.options_of_data(each, variables) for each in data["pieces"]),
        every=float(data["every"]),
        owner=(int(user), int(group)),
    )


def options_of(cell: Cell, options: RunOptions) -> RunOptions:
    """The options of a run that runs this cell, a shard, and nothing else, where it is started.

    With the Python of the image that it is started in: a path of this machine says nothing there.
    """
    return replace(
        options,
        suite=cell.suite.name,
        setup=cell.setup.name,
        stack_config=cell.stack_config,
        shard=str(cell.shard),
        python=None,
        sources={**options.sources, "shard": Source.COMMAND_LINE},
        engine="local",
        shards=None,
        json=False,
        verbose=False,
    )


def piece_of(task: str, pieces: str) -> tuple[int, int, str]:
    """Piece, attempt and the node's host name, from the two variables. ValueError for what the engine cannot have said.

    task: the template's slots count from 1.
    """
    slot, _, host = task.split(" ", 2)
    piece, attempt = pieces.split(",")[int(slot) - 1].split(".")
    return int(piece), int(attempt), host
