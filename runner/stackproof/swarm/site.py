"""The swarm that a run finds: its nodes, and the images of the tasks on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from stackproof.catalog.records import StackSpec
from stackproof.errors import DockerError
from stackproof.stack.engine import Engine
from stackproof.stack.engine_records import NodeFacts
from stackproof.swarm import image_delivery, worker_image
from stackproof.swarm.ground import Worker
from stackproof.swarm.image_delivery import Delivery


def nodes(engine: Engine) -> list[NodeFacts]:
    """Those that take tasks; DockerError where the engine manages no swarm, or none takes any."""
    facts = engine.swarm()
    if facts is None:
        raise DockerError(
            f"the Docker engine at {engine.endpoint} is part of no swarm",
            hint="`docker swarm init` makes it the first node of one; DOCKER_HOST or a context names another engine",
        )
    if not facts.is_manager:
        raise DockerError(
            f"the Docker engine at {engine.endpoint} is a worker of its swarm, and only a manager starts jobs",
            hint="name a manager with DOCKER_HOST or `docker context use`",
        )
    everyone = engine.nodes()
    found = [node for node in everyone if node.takes_tasks]
    if not found:
        raise DockerError(
            f"no node of the swarm at {engine.endpoint} takes tasks",
            hint="`docker node ls` says how they are; `docker node update --availability active NODE` opens one",
        )
    own = next((node for node in everyone if node.id == facts.node), None)
    if own is not None and not own.takes_tasks:
        # The swarm lets no container there join a network that spans its nodes, and says so by a deadline of its own.
        raise DockerError(
            f"{own.hostname}, the manager at {engine.endpoint}, takes no tasks (it is {_how(own)}), so what takes in "
            "the results of the shards cannot run beside it",
            hint=f"`docker node update --availability active {own.hostname}`, or name another manager with DOCKER_HOST "
            "or `docker context use`",
        )
    return found


def _how(node: NodeFacts) -> str:
    return {"drain": "drained", "pause": "paused"}.get(node.availability, node.status)


def workers(
    engine: Engine,
    stacks: Sequence[StackSpec],
    where: Sequence[NodeFacts],
    *,
    environment: Mapping[str, str],
    marks: Mapping[str, str],
    say: Callable[[str], None],
    check: Callable[[], None],
) -> dict[str, Worker]:
    """The image for the tasks of each stack, on the nodes or where they fetch it."""
    found: dict[str, Worker] = {}
    for stack in stacks:
        name, facts = worker_image.prepare(engine, stack, environment=environment, say=say, check=check)
        there = Delivery(
            engine=engine, name=name, image=facts, environ=environment, marks=marks, say=say, check=check
        ).to(where)
        found[stack.name] = Worker(
            stack=stack,
            name=name,
            reference=there.reference,
            python="python3" if stack.docker is None else stack.docker.python,
            without=frozenset(there.without),
        )
    return found


def that_have_all(where: Sequence[NodeFacts], workers_: Mapping[str, Worker], engine: Engine) -> list[NodeFacts]:
    """The nodes that have all images; DockerError where none has."""
    found = [node for node in where if all(node.id not in worker.without for worker in workers_.values())]
    if not found:
        raise DockerError(
            f"no node of the swarm at {engine.endpoint} has the image that the shards need",
            hint=f"{image_delivery.REGISTRY} names a registry to fetch it from, {image_delivery.ENGINES} engines to "
            "carry it to",
        )
    return found
