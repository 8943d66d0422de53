"""Three engines that form a swarm, and what tests let happen to them; all of it can be undone."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ci.swarm_engines import bed
from ci.swarm_engines.bed import Bed

from stackproof.stack import engine as engines
from stackproof.stack import labels
from stackproof.stack.engine import Engine
from stackproof.stack.engine_records import NodeFacts

COUNT = 3
_SEEN = 120.0  # seconds until the manager has to see what became of a node
_CLEAN = 120.0  # seconds until what was removed has to be gone on all engines


@dataclass(frozen=True, kw_only=True, slots=True)
class SwarmEngines:
    """Engines by numbers: 1 is the manager. base: the image with Python that they have."""

    bed: Bed
    manager: Engine
    base: str
    hurt: dict[str, set[int]] = field(
        default_factory=lambda: {"killed": set(), "cut": set(), "filled": set(), "drained": set()}
    )

    def address(self, number: int) -> str:
        """As DOCKER_HOST has it."""
        return f"unix://{self.bed.node(number).socket}"

    def environ(self, **more: str) -> dict[str, str]:
        """Of a program that is to use the swarm."""
        return {**os.environ, "DOCKER_HOST": self.address(1), "STACKPROOF_DOCKER_BASE": self.base, **more}

    @contextlib.contextmanager
    def engine(self, number: int) -> Iterator[Engine]:
        """One of them."""
        with contextlib.closing(engines.connect({"DOCKER_HOST": self.address(number)})) as found:
            yield found

    def kill(self, number: int) -> None:
        """Switch one off, with all that runs on it; it comes back by `revive`."""
        self.hurt["killed"].add(number)
        self.bed.node(number).kill()

    def revive(self, number: int) -> None:
        """Switch it on again."""
        node = self.bed.node(number)
        node.start()
        node.wait()
        self.hurt["killed"].discard(number)

    def cut(self, number: int) -> None:
        """Pull the network cable of one; its engine and tasks go on."""
        self.hurt["cut"].add(number)
        self.bed.node(number).cut()

    def heal(self, number: int) -> None:
        """Put it back."""
        self.bed.node(number).heal()
        self.hurt["cut"].discard(number)

    def fill(self, number: int) -> None:
        """Leave no room on the disk of one."""
        self.hurt["filled"].add(number)
        self.bed.node(number).fill()

    def free(self, number: int) -> None:
        """Give it room again."""
        self.bed.node(number).free(bed.SIZE)
        self.hurt["filled"].discard(number)

    def drain(self, number: int) -> None:
        """Have one take no tasks any more; those that run on it end."""
        self.hurt["drained"].add(number)
        self._availability(number, "drain")

    def rejoin(self, number: int) -> None:
        """Have it take tasks again."""
        self._availability(number, "active")
        self.hurt["drained"].discard(number)

    def _availability(self, number: int, availability: str) -> None:
        client: Any = self.manager._client
        found = client.inspect_node(self.node(number).id)
        client.update_node(found["ID"], found["Version"]["Index"], {**found["Spec"], "Availability": availability})

    def node(self, number: int) -> NodeFacts:
        """What the manager says of one."""
        return next(node for node in self.manager.nodes() if node.hostname == f"engine-{number}")

    def becomes(self, number: int, status: str) -> None:
        """Wait until the manager sees one as `ready` or `down`."""
        until(lambda: self.node(number).status == status, f"engine-{number} is not {status}", _SEEN)

    def restore(self) -> None:
        """Undo all that was done to them."""
        for number in sorted(self.hurt["filled"]):
            self.free(number)
        for number in sorted(self.hurt["cut"]):
            self.heal(number)
        for number in sorted(self.hurt["killed"]):
            self.revive(number)
        for number in sorted(self.hurt["drained"]):
            self.rejoin(number)
        for number in range(1, COUNT + 1):
            self.becomes(number, "ready")

    def left(self) -> list[str]:
        """Everything of ours on any of them, and every container whosever it is."""
        found = [f"{item.kind} {item.name}" for item in self.manager.owned_in_swarm(labels.RUN)]
        for number in range(1, COUNT + 1):
            with self.engine(number) as engine:
                there = engine._client.containers(all=True)
                found += [f"container {item['Names'][0]} on engine-{number}" for item in there]
                found += [f"{item.kind} {item.name} on engine-{number}" for item in engine.owned(labels.RUN)]
        return found

    def nothing_is_left(self) -> None:
        """Engines take a moment to remove what a manager no longer knows."""
        until(lambda: not self.left(), "left", _CLEAN, self.left)

    def has(self, number: int, image: str) -> bool:
        """Whether one has an image."""
        with self.engine(number) as engine:
            return engine.image(image) is not None


def until(
    holds: Callable[[], bool], otherwise: str, seconds: float = 120.0, told: Callable[[], object] = lambda: ""
) -> None:
    """Wait until something holds; an assertion fails where it does not in time."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"{otherwise} after {seconds} s: {told()}"
        time.sleep(0.1)


def lacking(environ: Mapping[str, str]) -> str:
    """What this machine lacks for them, or nothing."""
    return bed.missing() or ("" if environ.get("STACKPROOF_DOCKER_BASE") else "a base image in STACKPROOF_DOCKER_BASE")


@contextlib.contextmanager
def started(folder: Path, base: str) -> Iterator[SwarmEngines]:
    """For as long as the context lasts. base: goes to the manager alone."""
    made = bed.up(folder, COUNT, (), bed.SIZE)
    try:
        bed.load(base, [made.node(1)])
        manager = engines.connect({"DOCKER_HOST": f"unix://{made.node(1).socket}"})
        with contextlib.closing(manager):
            yield SwarmEngines(bed=made, manager=manager, base=base)
    finally:
        bed.down(folder)


def left_by_killed_tests(place: Path, prefix: str) -> None:
    """Take away engines whose tests were killed: their folder is named after a process that is gone."""
    for folder in place.glob(f"{prefix}*"):
        if not Path("/proc", folder.name.removeprefix(prefix)).exists():
            bed.down(folder)


def run(command: list[str], environ: Mapping[str, str], cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """A command to its end; the caller judges its exit code."""
    return subprocess.run(command, env=dict(environ), cwd=cwd, capture_output=True, text=True, timeout=600, check=False)
