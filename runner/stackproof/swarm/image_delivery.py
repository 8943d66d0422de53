"""How the nodes of a swarm come by the image of a task: from a registry, from engine to engine, or they have it.

STACKPROOF_REGISTRY (`HOST[:PORT]/PREFIX`) names where to push to; every node fetches it there by its digest.
STACKPROOF_SWARM_ENGINES names engines of nodes (addresses as in DOCKER_HOST, or contexts, separated by commas): those
that lack the image get it from the manager's engine. Any other node is asked whether it has it, and left out where not.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from stackproof.errors import DockerError, NoEngineError
from stackproof.stack import engine as engines
from stackproof.stack.engine import Engine
from stackproof.stack.engine_records import ENDED, ImageFacts, JobSpec, NodeFacts, TaskFacts

REGISTRY = "STACKPROOF_REGISTRY"
ENGINES = "STACKPROOF_SWARM_ENGINES"
_ANSWERS = 60.0  # seconds until a node has to have told whether it has an image
_LOOK = 0.1  # seconds between two looks
_BEGUN = ENDED | {"starting", "running"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Delivered:
    """reference: of the image as a task names it. without: nodes that have not got it, by id, and their names."""

    reference: str
    without: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Delivery:
    """An image to be delivered. name: of it on the manager's engine. marks: labels of what is made for a moment."""

    engine: Engine
    name: str
    image: ImageFacts
    environ: Mapping[str, str]
    marks: Mapping[str, str]
    say: Callable[[str], None]
    check: Callable[[], None]

    def to(self, nodes: Sequence[NodeFacts]) -> Delivered:
        """See to it that these nodes can run it; DockerError where a registry or an engine that is named fails."""
        registry = self.environ.get(REGISTRY, "").strip().strip("/")
        if registry:
            return Delivered(reference=self._pushed(registry))
        facts = self.engine.swarm()
        has = {facts.node} if facts is not None else set()
        has |= set(self._carried({node.id for node in nodes}))
        without = self._asked([node for node in nodes if node.id not in has], has)
        for name in without.values():
            self.say(
                f"node {name} has not got image {self.name} and gets no shard; {REGISTRY} names a registry to fetch it "
                f"from, {ENGINES} engines to carry it to"
            )
        return Delivered(reference=self.image.id, without=without)

    def _pushed(self, registry: str) -> str:
        repository, _, tag = self.name.rpartition(":")
        target, began = f"{registry}/{repository}", time.monotonic()
        self.engine.name_image(self.name, target, tag)
        try:
            digest = self.engine.push(target, tag, check=self.check)
        finally:
            self.engine.remove_image(f"{target}:{tag}", force=False)
        self.say(f"● image {self.name} is at {registry}, {time.monotonic() - began:.1f} s")
        return f"{target}@{digest}"

    def _carried(self, wanted: set[str]) -> Iterator[str]:
        """Ids of the nodes whose engines are named and have the image now. wanted: those that take tasks."""
        members = {node.id for node in self.engine.nodes()} if self.environ.get(ENGINES) else set[str]()
        for name in filter(None, (part.strip() for part in self.environ.get(ENGINES, "").split(","))):
            self.check()
            try:
                other = engines.connect(_of(name, self.environ))
            except NoEngineError as error:
                # Its node may be the one that is down; the others go on without it.
                self.say(f"{error.message}; it is named in {ENGINES} and gets no image {self.name}")
                continue
            with contextlib.closing(other):
                node = self._node_of(other, members)
                if node not in wanted:
                    # Drained or paused for a while: it stays named, and gets its image once it takes part again.
                    self.say(f"{other.facts.name} takes no tasks of the swarm, and gets no image {self.name}")
                elif other.image(self.image.id) is not None or self._carry(other):
                    yield node

    def _node_of(self, other: Engine, members: set[str]) -> str:
        facts = other.swarm()
        if facts is None or facts.node not in members:
            raise DockerError(
                f"the engine at {other.endpoint}, which {ENGINES} names, is no node of the swarm at "
                f"{self.engine.endpoint}",
                hint="`docker node ls` says which are; name others there, or none",
            )
        return facts.node

    def _carry(self, other: Engine) -> bool:
        began, size = time.monotonic(), 0

        def pieces() -> Iterator[bytes]:
            nonlocal size
            for piece in self.engine.saved(self.name):
                self.check()
                size += len(piece)
                yield piece

        try:
            other.load(pieces())
            found = other.image(self.image.id) is not None
        except DockerError as error:
            self.say(f"image {self.name} could not be carried to {other.facts.name}: {error.message}")
            return False
        if found:
            took = f"{size / 1e6:.0f} MB, {time.monotonic() - began:.1f} s"
            self.say(f"● image {self.name} is on {other.facts.name} now, {took}")
        return found

    def _asked(self, nodes: Sequence[NodeFacts], known: set[str]) -> dict[str, str]:
        """Those of the nodes that have not got the image: a task for each tells, which does nothing."""
        if not nodes:
            return {}
        spec = JobSpec(
            name=f"stackproof-has-image-{secrets.token_hex(4)}",
            image=self.image.id,
            replicas=len(nodes),
            per_node=1,
            entrypoint=(),
            command=("true",),
            labels=self.marks,
            constraints=tuple(f"node.id!={node}" for node in sorted(known)),
        )
        try:
            tasks = self._told(self.engine.create_job(spec), len(nodes))
        finally:
            # By its name: an answer of the engine that gets lost must not leave it behind.
            self.engine.remove_service(spec.name)
        has = {task.node for task in tasks if task.state in _BEGUN and not task.lacks_image}
        return {node.id: node.hostname for node in nodes if node.id not in has}

    def _told(self, job: str, number: int) -> tuple[TaskFacts, ...]:
        deadline = time.monotonic() + _ANSWERS
        while True:
            self.check()
            tasks = self.engine.tasks(job)
            if sum(task.state in _BEGUN for task in tasks) >= number or time.monotonic() > deadline:
                return tasks
            time.sleep(_LOOK)


def _of(name: str, environ: Mapping[str, str]) -> Mapping[str, str]:
    """What leads to an engine: an address, as it is known by its scheme, or a context."""
    others = {key: value for key, value in environ.items() if key not in ("DOCKER_HOST", "DOCKER_CONTEXT")}
    return {**others, "DOCKER_HOST" if "://" in name else "DOCKER_CONTEXT": name}
