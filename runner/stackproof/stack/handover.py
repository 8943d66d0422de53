"""A container that one cell of a run leaves on the engine for the next one, and the file that says so.

The file is written before anything is made and removed after it is gone: whatever happens to a cell, its run knows what
to take away. It lies in the run's folder, `shared/STACK.json`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stackproof.errors import DockerError, StackproofError
from stackproof.evidence import jsonfile

if TYPE_CHECKING:
    from stackproof.stack.engine import Engine

FOLDER = "shared"


@dataclass(frozen=True, kw_only=True, slots=True)
class Left:
    """A container and its network, by name. token: part of the names. image: its tag. uses: cells that had it so far.

    free: whether the last cell left it as it was found; a cell that has it, or was killed while it had it, left it
    otherwise.
    """

    container: str
    network: str
    token: str
    image: str
    uses: int = 0
    free: bool = False


class Handover:
    """What one cell takes over and leaves. follows: whether a cell comes that could have it. stays: set to leave it."""

    def __init__(self, path: Path, *, follows: bool) -> None:
        self.follows = follows
        self.stays = False
        self._path = path
        self.left: Left | None = None

    @property
    def folder(self) -> Path:
        """For files that the container needs for as long as it is there."""
        return self._path.with_suffix("")

    def take(self, engine: Engine) -> Left | None:
        """What is there and can be used; what cannot be is taken away. None where there is nothing."""
        found = _read(self._path)
        if found is None:
            return None
        # From now on it goes at the end of this cell, also where the engine fails at the next question.
        self.left = replace(found, free=False, uses=found.uses + 1)
        state = engine.state(found.container) if found.free else None
        if state is None or not state.running:
            self.end(engine)
            self.left = None
            return None
        self.note(self.left)
        return self.left

    @property
    def noted(self) -> Left:
        """What this cell has; StackproofError before anything was noted."""
        if self.left is None:
            raise StackproofError("a container that cells share was not noted before it was made")
        return self.left

    def note(self, left: Left) -> None:
        """Write down what is about to be made, or is in use."""
        self.left = left
        jsonfile.write(self._path, asdict(left))

    def end(self, engine: Engine) -> None:
        """At the end of a cell: leave it, or take it away."""
        if self.left is None:
            return
        if self.stays:
            self.note(replace(self.left, free=True))
            return
        _remove(engine, self.left)
        self._path.unlink(missing_ok=True)


def clear(run_dir: Path, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Take away what the cells of a run have left; one line for each that could not be. Costs nothing without any."""
    files = sorted((run_dir / FOLDER).glob("*.json"))
    if not files:
        return ()
    from stackproof.stack import engine as engines  # noqa: PLC0415 - whoever leaves nothing needs no engine

    problems = []
    try:
        with contextlib.closing(engines.connect(environment)) as engine:
            for path in files:
                if (found := _read(path)) is not None:
                    _remove(engine, found)
                path.unlink(missing_ok=True)
    except DockerError as error:
        problems.append(f"containers of this run are left, the next run removes them: {error.message}")
    return tuple(problems)


def _remove(engine: Engine, left: Left) -> None:
    for item in engine.in_network(left.network):
        engine.remove(item)
    # Made and not started it is in no network yet.
    engine.remove(left.container)
    engine.remove_network(left.network)


def _read(path: Path) -> Left | None:
    data: dict[str, Any] | None = jsonfile.read(path)
    try:
        return None if data is None else Left(**data)
    except TypeError:
        return None
