"""What a swarm's manager says, as data of our own; and what is said of what was swept there."""

from __future__ import annotations

from typing import Any

import pytest

from stackproof.errors import DockerError
from stackproof.stack import labels, sweep
from stackproof.stack.engine import services
from stackproof.stack.engine_records import NodeFacts, Owned, TaskFacts

TASK: dict[str, Any] = {
    "ID": "t1",
    "ServiceID": "s1",
    "Slot": 3,
    "NodeID": "n1",
    "CreatedAt": "2026-11-30T07:25:18.704300912Z",
    "DesiredState": "shutdown",
    "Status": {
        "Timestamp": "2026-11-30T07:25:22Z",
        "State": "failed",
        "Message": "started",
        "Err": "task: non-zero exit (7)",
        "ContainerStatus": {"ContainerID": "c1", "ExitCode": 7},
    },
}


def task(**status: Any) -> TaskFacts:
    return services._task({**TASK, "Status": {**TASK["Status"], **status}})


def test_a_task_has_its_slot_from_0_and_its_times_in_seconds() -> None:
    found = services._task(TASK)
    assert (found.slot, found.node, found.container, found.code, found.ended) == (2, "n1", "c1", 7, True)
    assert found.created == pytest.approx(1796023518.7043009)
    assert found.changed == 1796023522.0


def test_a_task_that_has_not_ended_has_no_exit_code() -> None:
    # The engine says 0 from the start.
    assert task(State="running", ContainerStatus={"ContainerID": "c1", "ExitCode": 0}).code is None
    assert not task(State="running").ended
    assert task(State="complete", ContainerStatus={"ContainerID": "c1", "ExitCode": 0}).code == 0


def test_a_task_without_node_or_container_is_read_too() -> None:
    found = services._task({"ID": "t2", "Status": {"State": "pending", "Err": "no suitable node"}})
    assert (found.node, found.container, found.slot, found.created, found.error) == ("", "", 0, 0.0, "no suitable node")


@pytest.mark.parametrize(
    ("state", "error", "lacks"),
    [
        ("rejected", "No such image: sha256:00", True),
        ("rejected", "no space left on device", False),
        ("failed", "No such image: sha256:00", False),
    ],
)
def test_a_node_that_lacks_an_image_is_told_from_one_that_fails(state: str, error: str, lacks: bool) -> None:
    assert task(State=state, Err=error).lacks_image is lacks


def test_what_a_manager_writes_into_a_log_itself_is_no_word_of_a_task() -> None:
    assert services._written(b"1 passed", "the log") == b"1 passed"
    with pytest.raises(DockerError, match=r"^the log did not come whole: rpc error: node n1 is not available$"):
        services._written(b"Error grabbing logs: rpc error:\n node n1 is not available\n", "the log")


@pytest.mark.parametrize(
    ("status", "availability", "takes"),
    [("ready", "active", True), ("ready", "drain", False), ("ready", "pause", False), ("down", "active", False)],
)
def test_a_node_takes_tasks_when_it_is_there_and_wants_to(status: str, availability: str, takes: bool) -> None:
    node = NodeFacts(
        id="n", hostname="h", status=status, availability=availability, is_manager=False, address="", cpus=2, memory=1
    )
    assert node.takes_tasks is takes


class Manager:
    """What of an engine a sweep asks for; some tasks of its services are on nodes that cannot be reached."""

    def __init__(self, away: int = 0) -> None:
        self.away, self.gone = away, list[str]()

    def _owned(self, kind: str, name: str, **more: str) -> Owned:
        return Owned(kind=kind, id=name, name=name, labels={labels.RUN: "r1", **more})

    def owned(self, _: str) -> tuple[Owned, ...]:
        task = self._owned("container", "task", **{"com.docker.swarm.service.id": "job"})
        return (self._owned("container", "depot"), task)

    def owned_in_swarm(self, _: str) -> tuple[Owned, ...]:
        return (self._owned("network", "net"), self._owned("secret", "token"), self._owned("service", "job"))

    def remove_service(self, name: str) -> tuple[TaskFacts, ...]:
        self.gone.append(name)
        return (services._task(TASK),) * self.away

    def remove(self, name: str) -> None:
        self.gone.append(name)

    remove_secret = remove_network = remove


@pytest.mark.parametrize(
    ("away", "more"),
    [
        (0, ""),
        (1, "; 1 task of it is on a node that cannot be reached, and gone once it can"),
        (2, "; 2 tasks of it are on a node that cannot be reached, and gone once it can"),
    ],
)
def test_what_is_on_a_swarm_goes_in_the_order_in_which_it_can(away: int, more: str) -> None:
    manager: Any = Manager(away)
    (line,) = sweep.everything(manager)
    assert manager.gone == ["job", "depot", "token", "net"]
    assert line == f"run r1 is down; removed 1 service, 1 container, 1 secret and 1 network{more}"
