"""What a stand-in is given, and what it may do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ci.rehearsal.artifacts import Store
from ci.rehearsal.events import Event
from ci.rehearsal.machine import Machine
from ci.rehearsal.origin import Origin


class FailedError(Exception):
    """The action ends its step with a failure, and this text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One step that uses an action. inputs: with defaults, by lower-case name. pythons: where versions lie.

    pretended: whether jobs were only said to end, so that what they would have left is not there.
    """

    inputs: Mapping[str, str]
    machine: Machine
    store: Store
    run: int
    event: Event
    origin: Origin
    repository: str
    permissions: Mapping[str, str]
    pythons: Path
    seed: Path | None
    pretended: bool
    say: Callable[[str], None]
    wrong: Callable[[str], None]

    def flag(self, name: str) -> bool:
        """An input that is true or false."""
        value = self.inputs[name].lower()
        if value not in ("true", "false"):
            raise FailedError(f"the input {name!r} is true or false, not {value!r}")
        return value == "true"

    def path(self, given: str) -> Path:
        """A path of the workspace, `~` of the home."""
        if given.startswith("~"):
            return self.machine.home / given[1:].lstrip("/")
        return self.machine.workspace / given

    def allow(self, scope: str, level: str = "read") -> None:
        """Fail where the job's token does not have a permission, as in a private repository."""
        has = self.permissions.get(scope, "none")
        if has not in ("write", level):
            raise FailedError(f"the job's token may not {level} {scope}: 403 Resource not accessible by integration")


@dataclass(frozen=True, kw_only=True, slots=True)
class Played:
    """A stand-in. inputs: their defaults, those of the action's own action.yml. outputs: all that there may be."""

    inputs: Mapping[str, str]
    outputs: tuple[str, ...]
    do: Callable[[Call], Mapping[str, str]]
