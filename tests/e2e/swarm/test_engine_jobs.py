"""Jobs of a swarm as the engine's package has them: tasks, what they see, how they end, and that they go."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from tests.e2e.swarm.swarm_engines import COUNT, SwarmEngines, until

from stackproof.errors import DockerError
from stackproof.stack.engine import services
from stackproof.stack.engine_records import ContainerSpec, JobSpec, SecretUse, TaskFacts

RUN = {"dev.stackproof.run-id": "tried", "dev.stackproof.stack": "toy"}
Job = Callable[..., str]


@pytest.fixture
def job(swarm: SwarmEngines) -> Iterator[Job]:
    """Makes jobs that have our labels and this machine's base image, and removes them."""
    made: list[str] = []
    image = swarm.manager.image(swarm.base)
    assert image is not None

    def make(code: str, **more: object) -> str:
        spec = JobSpec(
            **{  # type: ignore[arg-type]
                "name": f"tried-{len(made)}",
                "image": image.id,
                "replicas": 1,
                "entrypoint": (),
                "command": ("python3", "-c", code),
                "labels": RUN,
                **more,
            }
        )
        made.append(swarm.manager.create_job(spec))
        return made[-1]

    yield make
    for service in made:
        swarm.manager.remove_service(service)


def ended(swarm: SwarmEngines, service: str) -> tuple[TaskFacts, ...]:
    until(
        lambda: bool(found := swarm.manager.tasks(service)) and all(task.ended for task in found),
        "tasks run",
        told=lambda: swarm.manager.tasks(service),
    )
    return swarm.manager.tasks(service)


def running(swarm: SwarmEngines, service: str) -> tuple[TaskFacts, ...]:
    until(
        lambda: bool(found := swarm.manager.tasks(service)) and all(task.state == "running" for task in found),
        "tasks do not run",
        told=lambda: swarm.manager.tasks(service),
    )
    return swarm.manager.tasks(service)


def written(swarm: SwarmEngines, service: str) -> list[str]:
    """The lines that its tasks have written: of one that has just ended the last ones may still be on their way."""
    return sorted(filter(None, b"".join(swarm.manager.service_logs(service)).decode().split("\n")))


def test_an_engine_says_which_swarm_it_is_part_of(swarm: SwarmEngines) -> None:
    facts = swarm.manager.swarm()
    assert facts is not None
    assert (facts.is_manager, facts.nodes, facts.problem) == (True, COUNT, "")
    nodes = swarm.manager.nodes()
    assert [node.hostname for node in nodes] == ["engine-1", "engine-2", "engine-3"]
    assert [node.is_manager for node in nodes] == [True, False, False]
    assert all(node.takes_tasks and node.cpus > 0 and node.memory > 0 for node in nodes)
    assert nodes[0].id == facts.node
    with swarm.engine(2) as worker:
        seen = worker.swarm()
        assert seen is not None
        assert (seen.is_manager, seen.node) == (False, nodes[1].id)
        assert worker.owned_in_swarm("dev.stackproof.run-id") == ()
        with pytest.raises(DockerError, match="not a swarm manager"):
            worker.nodes()


def test_tasks_run_on_all_nodes_with_what_they_were_given(swarm: SwarmEngines, everywhere: None, job: Job) -> None:
    engine = swarm.manager
    network = engine.create_overlay("tried-net", labels=RUN, internal=True)
    secret = engine.create_secret("tried-secret", b"of nobody else", labels=RUN)
    depot = ""
    try:
        image = engine.image(swarm.base)
        assert image is not None
        serve = "import http.server as s; s.test(s.SimpleHTTPRequestHandler, port=80)"
        depot = engine.create(
            ContainerSpec(
                name="tried-depot", image=image.id, network="tried-net", command=("python3", "-c", serve), labels=RUN
            )
        )
        engine.start(depot)
        code = (
            "import os, urllib.request as r\n"
            "r.urlopen('http://tried-depot/', timeout=120).close()\n"
            "where = '/run/secrets/key'\n"
            "print(os.environ['ME'], open(where).read(), oct(os.stat(where).st_mode & 0o777), os.stat(where).st_uid)\n"
            "os.unshare(os.CLONE_NEWNET) if hasattr(os, 'unshare') else os.system('unshare --net true') and exit(3)\n"
            "open('/scratch/written', 'w').close()\n"
        )
        service = job(
            code,
            replicas=6,
            networks=(network,),
            secrets=(SecretUse(id=secret, name="tried-secret", target="key", user=0),),
            environment={"ME": "{{.Task.Slot}} {{.Node.Hostname}}"},
            tmpfs=("/scratch",),
            capabilities=("SYS_ADMIN",),
            per_node=2,
            cpus=1.0,
            memory=256 << 20,
        )
        tasks = ended(swarm, service)
        assert [task.slot for task in tasks] == list(range(6))
        assert {(task.state, task.code, task.error) for task in tasks} == {("complete", 0, "")}
        assert {task.node for task in tasks} == {node.id for node in engine.nodes()}
        assert all(0 < task.created <= task.changed and task.container for task in tasks)
        hosts = {node.id: node.hostname for node in engine.nodes()}
        expected = [f"{task.slot + 1} {hosts[task.node]} of nobody else 0o400 0" for task in tasks]
        until(lambda: written(swarm, service) == expected, "not all is told", told=lambda: written(swarm, service))
        assert b"".join(engine.task_logs(tasks[4].id)).startswith(b"5 ")
        kinds = sorted(item.kind for item in engine.owned_in_swarm("dev.stackproof.run-id"))
        assert kinds == ["network", "secret", "service"]
        assert engine.remove_service(service) == ()
    finally:
        engine.remove(depot)
        engine.remove_service("tried-0")
        engine.remove_secret(secret)
        engine.remove_network(network)


def test_a_task_that_fails_is_not_started_again_unless_asked(swarm: SwarmEngines, job: Job) -> None:
    here = ("node.role==manager",)
    once = job("raise SystemExit(7)", constraints=here)
    twice = job("raise SystemExit(7)", constraints=here, attempts=1)
    (task,) = ended(swarm, once)
    assert (task.state, task.code) == ("failed", 7)
    until(lambda: len(swarm.manager.tasks(twice)) == 2, "it was not started again")
    time.sleep(1)
    assert [task.code for task in ended(swarm, twice)] == [7, 7]
    assert len(swarm.manager.tasks(once)) == 1


def test_a_task_waits_for_room_and_for_a_node(swarm: SwarmEngines, job: Job) -> None:
    nowhere = job("pass", constraints=("node.hostname==nowhere",))
    huge = job("pass", reserved_memory=1 << 50)
    for service, why in ((nowhere, "constraints not satisfied"), (huge, "insufficient resources")):
        until(lambda one=(service, why): one[1] in "".join(task.error for task in swarm.manager.tasks(one[0])), why)  # type: ignore[misc]
        (task,) = swarm.manager.tasks(service)
        assert (task.state, task.node, task.ended) == ("pending", "", False)


def test_a_log_that_nothing_comes_of_any_more_is_not_waited_for(swarm: SwarmEngines) -> None:
    engine = swarm.manager
    image = engine.image(swarm.base)
    assert image is not None
    code = "import time; print('there', flush=True); time.sleep(3600)"
    made = engine.create(
        ContainerSpec(name="tried-log", image=image.id, command=("python3", "-c", code), labels=RUN, own_log=True)
    )
    try:
        engine.start(made)
        until(lambda: b"".join(engine.logs(made, follow=False)) == b"there\n", "it says nothing")
        heard: list[bytes] = []
        with pytest.raises(DockerError, match="said nothing for 1 s"):
            heard.extend(engine.followed(made, silent=1.0, check=lambda: None))
        assert heard == [b"there\n"]
        kept = engine.inspected(made)["HostConfig"]["LogConfig"]
        assert (kept["Type"], kept["Config"]["max-size"]) == ("json-file", "1g")
    finally:
        engine.remove(made)


def test_a_node_without_the_image_turns_the_task_away(swarm: SwarmEngines, job: Job) -> None:
    (task,) = ended(swarm, job("pass", image=f"sha256:{'0' * 64}"))
    assert (task.state, task.lacks_image, task.code) == ("rejected", True, None)
    (task,) = ended(swarm, job("pass", command=("no-such-program",), constraints=("node.role==manager",)))
    assert (task.state, task.lacks_image, task.code) == ("failed", False, 127)


def test_a_job_goes_whole_while_it_runs(swarm: SwarmEngines, everywhere: None, job: Job) -> None:
    service = job("import time; time.sleep(3600)", replicas=3, per_node=1, stop_grace=0.5)
    running(swarm, service)
    assert swarm.manager.remove_service("tried-0") == ()
    assert swarm.manager.tasks(service) == ()
    assert swarm.manager.remove_service(service) == ()


def test_tasks_of_a_node_that_died_are_told_and_go_when_it_comes_back(
    swarm: SwarmEngines, everywhere: None, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "_SILENT", 4.0)
    service = job("import time; time.sleep(3600)", replicas=3, per_node=1, stop_grace=0.5)
    running(swarm, service)
    lost = swarm.node(3).id
    swarm.kill(3)
    with pytest.raises(DockerError, match="a node said nothing"):
        list(swarm.manager.task_logs(next(task.id for task in swarm.manager.tasks(service) if task.node == lost)))
    swarm.becomes(3, "down")
    until(
        lambda: {task.node: task.desired for task in swarm.manager.tasks(service)}[lost] == "shutdown",
        "the lost task is wanted",
    )
    assert len(swarm.manager.tasks(service)) == 3, "it was started again by the swarm: nobody has asked for that"
    left = swarm.manager.remove_service(service)
    assert [task.node for task in left] == [lost]
    swarm.revive(3)
    until(lambda: swarm.manager.tasks(service) == (), "its task stays")
