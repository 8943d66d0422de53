"""A swarm that is only played, and who watches it."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, cast

import pytest
from rich.console import Console

from stackproof.catalog.records import SetupSpec, StackMode, StackSpec, SuiteSpec
from stackproof.errors import DockerError
from stackproof.plan import Cell
from stackproof.recorder.mode import Mode
from stackproof.shards.records import Shard
from stackproof.stack.engine_records import NodeFacts, TaskFacts
from stackproof.swarm.ground import Ground
from stackproof.swarm.pieces import Piece
from stackproof.swarm.rounds import Limits, Start
from stackproof.swarm.shown import Shown
from stackproof.swarm.watch import Watch

HERE = Path()


CELL = Cell(
    suite=SuiteSpec(name="base", description="", roots=("tests",), default_setup="local", source=HERE),
    setup=SetupSpec(name="local", description="", source=HERE),
    stack=StackSpec(name="toy", description="", folder=HERE, modes=(StackMode.LIBRARY,), source=HERE),
    mode=StackMode.LIBRARY,
    inference_mode=Mode.REPLAY,
    service=None,
    paths=("tests",),
)


GOOD = {"outcome.json": b"{}", "result.json": b"{}"}


def node(name: str, status: str = "ready") -> NodeFacts:
    return NodeFacts(
        id=name,
        hostname=f"host-{name}",
        status=status,
        availability="active",
        is_manager=False,
        address="",
        cpus=2.0,
        memory=1,
    )


def archive(files: dict[str, bytes]) -> io.BytesIO:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as opened:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            opened.addfile(entry, io.BytesIO(data))
    made.seek(0)
    return made


@dataclass(kw_only=True)
class Played:
    """Engine, ground and depot in one; each look lets a second pass and does what the script says of it."""

    nodes_: dict[str, NodeFacts]
    script: dict[int, Callable[[Played], None]] = field(default_factory=dict)
    jobs: dict[str, tuple[Start, ...]] = field(default_factory=dict)
    states: dict[tuple[str, int], TaskFacts] = field(default_factory=dict)
    told: list[dict[str, Any]] = field(default_factory=list)
    results: dict[int, dict[str, bytes]] = field(default_factory=dict)
    away: bool = False
    # While it is: calls that fail, and what was asked for in vain.
    unready: str = ""
    refused: list[str] = field(default_factory=list)
    retired: list[str] = field(default_factory=list)
    now: float = 0.0
    at_once: int = 8
    workers: dict[str, Any] = field(default_factory=dict)

    @property
    def engine(self) -> Played:
        return self

    def nodes(self) -> tuple[NodeFacts, ...]:
        if self.away:
            raise DockerError("the Docker engine is away")
        return tuple(self.nodes_.values())

    def tasks(self, *services: str) -> tuple[TaskFacts, ...]:
        return tuple(task for (name, _), task in self.states.items() if name in services)

    def retire(self, service: str) -> None:
        self.retired.append(service)

    def refuse(self, what: str) -> None:
        if self.unready == what:
            self.refused.append(what)
            raise DockerError(f"the Docker engine failed while {what}")

    def task_logs(self, task: str, *, check: Callable[[], None]) -> Iterator[bytes]:
        check()
        yield f"one line\nthe last line of {task}\n\n".encode()

    def by_stack(self, starts: Sequence[Start], cells: Sequence[Cell]) -> Iterator[tuple[Start, ...]]:
        return Ground.by_stack(cast("Ground", self), starts, cells)

    def job(self, starts: Sequence[Start], cells: Sequence[Cell]) -> str:
        self.refuse("making a job")
        name = f"job-{len(self.jobs) + 1}"
        self.jobs[name] = tuple(starts)
        free = [each for each in self.nodes_ if each not in starts[0].avoid and self.nodes_[each].takes_tasks]
        for slot in range(len(starts)):
            self.states[name, slot] = TaskFacts(
                id=f"{name}-{slot}", service=name, slot=slot, node=free[slot % len(free)], state="running", desired="",
                message="", error="", container="", code=None, created=0.0, changed=0.0,
            )  # fmt: skip
        return name

    def events(self) -> list[dict[str, Any]]:
        told, self.told = self.told, []
        return told

    def require(self) -> None:
        pass

    @contextmanager
    def fetch(self, piece: int) -> Iterator[IO[bytes]]:
        self.refuse("copying out")
        with archive(self.results.get(piece, GOOD)) as found:
            yield found

    def sleep(self, seconds: float) -> None:
        self.now += 1.0
        assert self.now < 5000, "it does not come to an end"
        act = self.script.get(int(self.now))
        if act is not None:
            act(self)

    def deliver(self, piece: int, attempt: int = 1, event: str = "delivered") -> None:
        self.told.append({"event": event, "piece": piece, "attempt": attempt})

    def sign(self, piece: int, attempt: int = 1, **said: Any) -> None:
        self.told.append({"event": "sign", "piece": piece, "attempt": attempt, "said": {"phase": "running", **said}})

    def state(self, service: str, slot: int, **more: Any) -> None:
        self.states[service, slot] = replace(self.states[service, slot], **more)


@dataclass(kw_only=True)
class Seen:
    """What came of it."""

    played: Played
    watch: Watch
    lines: list[str]
    taken: list[int]


@pytest.fixture
def seen(tmp_path: Path) -> Callable[[int, Played], Seen]:
    """Plays a run of so many pieces to its end."""

    def run(number: int, played: Played) -> Seen:
        pieces = [
            Piece(
                number=index,
                cell=replace(CELL, shard=Shard(index=index + 1, total=number)),
                title=f"base {index + 1}/{number}",
            )
            for index in range(number)
        ]
        lines: list[str] = []
        taken: list[int] = []
        (tmp_path / "cells").mkdir()
        watch = Watch(
            ground=cast("Any", played),
            depot=cast("Any", played),
            shown=Shown(Console(quiet=True), live=False, line=lines.append, clock=lambda: played.now),
            limits=Limits(),
            pieces=pieces,
            cells=tmp_path / "cells",
            taken=lambda piece: taken.append(piece.number),
            check=lambda: None,
            clock=lambda: played.now,
            sleep=played.sleep,
        )
        found = Seen(played=played, watch=watch, lines=lines, taken=taken)
        watch.run()
        return found

    return run


def nodes(*names: str) -> dict[str, NodeFacts]:
    return {name: node(name) for name in names}


def unready(what: str) -> Callable[[Played], None]:
    def act(played: Played) -> None:
        played.unready = what

    return act
