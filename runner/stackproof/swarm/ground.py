"""What a run has on a swarm: a network, a secret, a depot and jobs; made in this order, and gone in the other one."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import IO

from stackproof.catalog.records import StackSpec
from stackproof.errors import DockerError
from stackproof.plan import Cell
from stackproof.stack import interpreter
from stackproof.stack.engine import Engine
from stackproof.stack.engine_records import JobSpec, SecretUse
from stackproof.swarm import bootstrap, rounds
from stackproof.swarm import order as orders
from stackproof.swarm.depot_container import DepotContainer
from stackproof.swarm.rounds import Start


@dataclass(frozen=True, kw_only=True, slots=True)
class Worker:
    """The image that the tasks of a stack have. reference: as nodes take it, by digest. python: its own.

    without: ids of nodes that have not got it.
    """

    stack: StackSpec
    name: str
    reference: str
    python: str
    without: frozenset[str] = frozenset()


@dataclass(kw_only=True, slots=True)
class Ground:
    """internal: nothing gets out of the network. workers: by stack. at_once: tasks that may live at a time.

    names: of all jobs that were asked for. unsure: the last one, as long as nobody has said that it is there. jobs:
    their names by the ids of their services. going: ids of those that were told to go.
    """

    engine: Engine
    run_id: str
    internal: bool
    workers: Mapping[str, Worker]
    at_once: int
    marks: Mapping[str, str]
    token: str = field(default_factory=lambda: secrets.token_hex(4))
    names: list[str] = field(default_factory=list)
    unsure: str = ""
    jobs: dict[str, str] = field(default_factory=dict)
    going: set[str] = field(default_factory=set)
    secret: SecretUse | None = None
    depot: DepotContainer | None = None

    @property
    def network(self) -> str:
        """Its name."""
        return self._named("net")

    def job(self, starts: Sequence[Start], cells: Sequence[Cell]) -> str:
        """Start pieces of one stack, all of which avoid the same nodes, as the slots of one job; the service's id."""
        if self.unsure:
            # The answer got lost, and maybe nothing else: nobody needs the same shards twice.
            self._ended(self.unsure)
            self.unsure = ""
        worker = self.workers[cells[starts[0].piece].stack.name]
        name = self._named(f"job-{len(self.names) + 1}")
        # An answer of the engine that gets lost must not leave it behind.
        self.names.append(name)
        self.unsure = name
        assert self.secret is not None  # noqa: S101 - `prepare` has made both
        assert self.depot is not None  # noqa: S101
        service = self.engine.create_job(
            JobSpec(
                name=name,
                image=worker.reference,
                replicas=len(starts),
                entrypoint=(),
                command=bootstrap.command(worker.python),
                labels=self.marks,
                environment={
                    orders.TASK: orders.TEMPLATE,
                    orders.PIECES: ",".join(f"{start.piece}.{start.number}" for start in starts),
                    orders.DEPOT: self.depot.url,
                    # A shard has several Pythons, one after the other: only the first one is to compile.
                    "PYTHONDONTWRITEBYTECODE": "",
                    interpreter.variable("STACKPROOF_PYTHON", worker.stack.name): worker.python,
                },
                user="0:0",
                networks=(self.network,),
                secrets=(self.secret,),
                # What `unshare` asks for: a replay shuts itself off from this very network.
                capabilities=("SYS_ADMIN",) if self.internal else (),
                # Whoever takes the job away wants nothing more of its tasks.
                stop_grace=1.0,
                constraints=tuple(f"node.id!={node}" for node in sorted(starts[0].avoid | worker.without)),
            )
        )
        self.unsure = ""
        self.jobs[service] = name
        return service

    def retire(self, service: str) -> None:
        """Have a job go whose tasks have done all that they will do. `end` sees to it that it has gone."""
        with suppress(DockerError):
            self.engine.end_service(service)
            self.going.add(service)

    def by_stack(self, starts: Sequence[Start], cells: Sequence[Cell]) -> Iterator[tuple[Start, ...]]:
        """Starts that one job can hold: of one image, away from the same nodes."""
        for stack in dict.fromkeys(cells[start.piece].stack.name for start in starts):
            yield from rounds.together([start for start in starts if cells[start.piece].stack.name == stack])

    def prepare(
        self, archive: IO[bytes], variables: Mapping[str, str], *, pieces: int, check: Callable[[], None]
    ) -> DepotContainer:
        """Network, secret and depot. variables: what goes to the tasks and to nobody else."""
        key = secrets.token_urlsafe(32)
        self.engine.create_overlay(self.network, labels=self.marks, internal=self.internal)
        value = json.dumps({"token": key, "variables": dict(variables)}).encode()
        name = self._named("secret")
        made = self.engine.create_secret(name, value, labels=self.marks)
        self.secret = SecretUse(id=made, name=name, target=orders.SECRET)
        worker = next(iter(self.workers.values()))
        self.depot = DepotContainer(
            self.engine, name=self._named("depot"), image=worker.name, python=worker.python, network=self.network
        )
        self.depot.start(archive, token=key, pieces=pieces, labels=self.marks, check=check)
        return self.depot

    def end(self) -> tuple[str, ...]:
        """Take all of it away; one line for each thing that stays."""
        left: list[str] = []
        for name in self.names:
            if name not in {self.jobs.get(service) for service in self.going}:
                self._told(left, lambda name=name: self._ended(name))  # type: ignore[misc]
        self._told(left, lambda: self._gone(left))
        if self.depot is not None:
            self._told(left, self.depot.stop)
        self._told(left, lambda: self.engine.remove_secret(self._named("secret")))
        self._told(left, lambda: self.engine.remove_network(self.network))
        return tuple(left)

    def _ended(self, name: str) -> None:
        service = self.engine.end_service(name)
        if service:
            self.going.add(service)
            self.jobs[service] = name

    def _gone(self, left: list[str]) -> None:
        stay = self.engine.until_gone(self.going)
        names = [self.jobs.get(task.service, task.service) for task in stay]
        left += [f"a task of {name}, on a node that cannot be reached, which ends it once it can be" for name in names]

    def _told(self, left: list[str], remove: Callable[[], object]) -> None:
        try:
            remove()
        except DockerError as error:
            left.append(f"{error.message}; the next run there takes it away")

    def _named(self, what: str) -> str:
        return f"stackproof-{self.run_id}-{what}-{self.token}"


@contextmanager
def opened(
    engine: Engine,
    *,
    run_id: str,
    internal: bool,
    workers: Mapping[str, Worker],
    at_once: int,
    marks: Mapping[str, str],
    say: Callable[[str], None],
) -> Iterator[Ground]:
    """For as long as the context lasts, then gone. marks: the labels of all of it."""
    ground = Ground(
        engine=engine,
        run_id=run_id,
        internal=internal,
        workers=workers,
        at_once=at_once,
        marks=marks,
    )
    try:
        yield ground
    finally:
        for line in ground.end():
            say(f"left on the swarm: {line}")
