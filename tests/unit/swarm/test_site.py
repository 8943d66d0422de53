"""Which nodes of a swarm a run is given, and what is said where it can have none."""

from __future__ import annotations

from typing import Any, cast

import pytest

from stackproof.errors import DockerError
from stackproof.stack.engine_records import NodeFacts, SwarmFacts
from stackproof.swarm import site


def node(name: str, availability: str = "active", status: str = "ready") -> NodeFacts:
    return NodeFacts(
        id=name,
        hostname=f"host-{name}",
        status=status,
        availability=availability,
        is_manager=name == "m",
        address="",
        cpus=2.0,
        memory=1,
    )


class Engine:
    """Its node is `m`."""

    endpoint = "tcp://manager:2376 (DOCKER_HOST)"

    def __init__(self, *nodes: NodeFacts, is_manager: bool = True, part: bool = True) -> None:
        self._nodes, self._is_manager, self._part = nodes, is_manager, part

    def swarm(self) -> SwarmFacts | None:
        return SwarmFacts(id="s", node="m", is_manager=self._is_manager, nodes=len(self._nodes)) if self._part else None

    def nodes(self) -> tuple[NodeFacts, ...]:
        return self._nodes


def test_nodes_that_take_tasks_are_given() -> None:
    engine = Engine(node("m"), node("a", "drain"), node("b", status="down"), node("c"))
    assert [each.id for each in site.nodes(cast("Any", engine))] == ["m", "c"]


@pytest.mark.parametrize(
    ("engine", "says", "next_"),
    [
        (Engine(part=False), "is part of no swarm", "docker swarm init"),
        (Engine(is_manager=False), "is a worker of its swarm", "name a manager"),
        (Engine(node("m", "drain")), "no node of the swarm", "docker node ls"),
        (
            Engine(node("m", "drain"), node("a")),
            r"host-m, the manager at tcp://manager:2376 \(DOCKER_HOST\), takes no tasks \(it is drained\)",
            "`docker node update --availability active host-m`, or name another manager",
        ),
        (Engine(node("m", "pause"), node("a")), r"\(it is paused\)", "--availability active"),
    ],
)
def test_a_swarm_that_gives_none_is_one_sentence(engine: Engine, says: str, next_: str) -> None:
    with pytest.raises(DockerError, match=says) as refused:
        site.nodes(cast("Any", engine))
    assert next_ in str(refused.value.hint)
