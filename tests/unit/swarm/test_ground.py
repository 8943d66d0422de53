"""What a run makes on a swarm, and that all of it goes, also what nobody has said that it is there."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stackproof.catalog.records import SetupSpec, StackMode, StackSpec, SuiteSpec
from stackproof.errors import DockerError
from stackproof.plan import Cell
from stackproof.recorder.mode import Mode
from stackproof.shards.records import Shard
from stackproof.stack.engine_records import JobSpec, SecretUse, TaskFacts
from stackproof.swarm.ground import Ground, Worker
from stackproof.swarm.rounds import Start

HERE = Path()
STACK = StackSpec(name="toy", description="", folder=HERE, modes=(StackMode.LIBRARY,), source=HERE)
CELL = Cell(
    suite=SuiteSpec(name="base", description="", roots=("tests",), default_setup="local", source=HERE),
    setup=SetupSpec(name="local", description="", source=HERE),
    stack=STACK,
    mode=StackMode.LIBRARY,
    inference_mode=Mode.REPLAY,
    service=None,
    paths=("tests",),
)
CELLS = [replace(CELL, shard=Shard(index=index, total=4)) for index in range(1, 5)]


class Manager:
    """Services by their names; an answer gets lost where the name is in `silent`."""

    def __init__(self) -> None:
        self.there: dict[str, JobSpec] = {}
        self.silent: set[str] = set()
        self.did: list[str] = []
        self.stay: tuple[str, ...] = ()

    def create_job(self, spec: JobSpec) -> str:
        self.there[spec.name] = spec
        self._answer(f"make {_short(spec.name)}")
        return f"id of {spec.name}"

    def end_service(self, service: str) -> str:
        name = service.removeprefix("id of ")
        self._answer(f"end {_short(name)}")
        return f"id of {name}" if self.there.pop(name, None) is not None else ""

    def until_gone(self, services: Collection[str]) -> tuple[TaskFacts, ...]:
        self.did.append("wait for " + " and ".join(sorted(_short(each) for each in services)))
        return tuple(_task(each) for each in self.stay)

    def remove_secret(self, name: str) -> None:
        self._answer(f"remove {_short(name)}")

    remove_network = remove_secret

    def _answer(self, what: str) -> None:
        self.did.append(what)
        if what in self.silent:
            raise DockerError(f"the Docker engine failed to {what}")


def _short(name: str) -> str:
    return name.removeprefix("id of ").removeprefix("stackproof-7f3c2a-").rpartition("-")[0]


def _task(service: str) -> TaskFacts:
    return TaskFacts(
        id="t", service=service, slot=0, node="n", state="running", desired="remove", message="", error="",
        container="", code=None, created=0.0, changed=0.0,
    )  # fmt: skip


@pytest.fixture
def manager() -> Manager:
    return Manager()


@pytest.fixture
def ground(manager: Manager) -> Ground:
    """As `prepare` leaves it."""
    depot: Any = type("Depot", (), {"url": "http://depot", "stop": lambda _: manager.did.append("stop depot")})()
    return Ground(
        engine=manager,  # type: ignore[arg-type]
        run_id="7f3c2a",
        internal=True,
        workers={"toy": Worker(stack=STACK, name="toy-worker:1", reference="sha256:1", python="python3")},
        at_once=4,
        marks={},
        secret=SecretUse(id="s", name="secret", target="stackproof"),
        depot=depot,
    )


def start(piece: int, number: int = 1) -> Start:
    return Start(piece=piece, number=number)


def test_everything_goes_in_the_order_in_which_it_can(ground: Ground, manager: Manager) -> None:
    ground.job([start(0), start(1)], CELLS)
    ground.job([start(2)], CELLS)
    manager.did.clear()
    assert ground.end() == ()
    assert manager.did == [
        "end job-1", "end job-2", "wait for job-1 and job-2", "stop depot", "remove secret", "remove net"
    ]  # fmt: skip


def test_a_job_that_may_have_been_made_goes_before_its_shards_are_started_again(
    ground: Ground, manager: Manager
) -> None:
    manager.silent = {"make job-1"}
    with pytest.raises(DockerError):
        ground.job([start(0)], CELLS)
    assert len(manager.there) == 1
    ground.job([start(0)], CELLS)
    assert [_short(name) for name in manager.there] == ["job-2"]
    ground.job([start(1)], CELLS)
    assert manager.did == ["make job-1", "end job-1", "make job-2", "make job-3"]
    assert ground.end() == ()
    assert "wait for job-1 and job-2 and job-3" in manager.did
    assert manager.there == {}


def test_a_job_that_may_have_been_made_goes_at_the_end(ground: Ground, manager: Manager) -> None:
    manager.silent = {"make job-1"}
    with pytest.raises(DockerError):
        ground.job([start(0)], CELLS)
    assert ground.end() == ()
    assert manager.there == {}


def test_a_job_that_is_done_goes_at_once_and_is_waited_for_at_the_end(ground: Ground, manager: Manager) -> None:
    first = ground.job([start(0)], CELLS)
    ground.job([start(1)], CELLS)
    ground.retire(first)
    assert [_short(name) for name in manager.there] == ["job-2"]
    manager.did.clear()
    assert ground.end() == ()
    assert manager.did[:2] == ["end job-2", "wait for job-1 and job-2"]


def test_a_job_that_does_not_go_at_once_goes_at_the_end(ground: Ground, manager: Manager) -> None:
    first = ground.job([start(0)], CELLS)
    manager.silent = {"end job-1"}
    ground.retire(first)
    manager.silent = set()
    assert ground.end() == ()
    assert manager.there == {}


def test_what_stays_is_said_and_does_not_keep_the_rest(ground: Ground, manager: Manager) -> None:
    service = ground.job([start(0)], CELLS)
    manager.stay = (service,)
    manager.silent = {"remove secret"}
    of_job, of_secret = ground.end()
    assert of_job.startswith("a task of stackproof-7f3c2a-job-1-")
    assert of_secret == "the Docker engine failed to remove secret; the next run there takes it away"
    assert manager.did[-1] == "remove net"
