"""How nodes of a swarm come by an image: from a registry, from engine to engine, or not at all, which is said."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import shutil
import socket
import subprocess
import tarfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from tests.e2e.swarm.swarm_engines import COUNT, SwarmEngines, until

from stackproof.errors import DockerError
from stackproof.stack import ports
from stackproof.stack.engine_records import ImageFacts, JobSpec
from stackproof.swarm.image_delivery import ENGINES, REGISTRY, Delivered, Delivery

RUN = {"dev.stackproof.run-id": "tried", "dev.stackproof.stack": "toy"}
NAME = "tried/small:1"
# bcrypt of "of-nobody-else"
ALLOWED = "somebody:$2b$04$FQvUncpFLj5afCg3d19sJ.w08Wv.ijsKORKMEm/o6l6e3rwhEf0ha"
PASSWORD = "of-nobody-else"

Deliver = Callable[[Mapping[str, str]], Delivered]


@pytest.fixture
def image(swarm: SwarmEngines, tmp_path: Path) -> Iterator[ImageFacts]:
    """A small one that only the manager has."""
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as archive:
        for name, content in (("Dockerfile", b"FROM scratch\nCOPY file /file\n"), ("file", os.urandom(64))):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    context.seek(0)
    list(swarm.manager.build(context, tag=NAME, arguments={}, labels={}))
    facts = swarm.manager.image(NAME)
    assert facts is not None
    yield facts
    for number in range(1, COUNT + 1):
        with swarm.engine(number) as engine:
            engine.remove_image(facts.id)


@pytest.fixture
def said() -> list[str]:
    """Lines that people see."""
    return []


@pytest.fixture
def deliver(swarm: SwarmEngines, image: ImageFacts, said: list[str]) -> Deliver:
    """Brings the small image to all nodes; takes variables of the environment."""

    def deliver(environ: Mapping[str, str]) -> Delivered:
        delivery = Delivery(
            engine=swarm.manager,
            name=NAME,
            image=image,
            environ=environ,
            marks=RUN,
            say=said.append,
            check=lambda: None,
        )
        return delivery.to([node for node in swarm.manager.nodes() if node.takes_tasks])

    return deliver


@pytest.fixture
def registry(swarm: SwarmEngines, tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Starts a registry that all engines reach; returns its address."""
    program = shutil.which("docker-registry")
    if program is None:
        pytest.skip("a registry for a swarm needs docker-registry")
    started: list[subprocess.Popen[bytes]] = []

    def start(*, users: str = "") -> str:
        address = f"{swarm.bed.network}.1:{ports.free_port()}"
        settings: dict[str, object] = {
            "version": "0.1",
            "storage": {"filesystem": {"rootdirectory": str(tmp_path / "registry")}},
            "http": {"addr": address},
        }
        if users:
            (tmp_path / "users").write_text(users)
            settings["auth"] = {"htpasswd": {"realm": "tried", "path": str(tmp_path / "users")}}
        (tmp_path / "registry.yaml").write_text(json.dumps(settings))
        with (tmp_path / "registry.log").open("wb") as log:
            started.append(
                subprocess.Popen([program, "serve", str(tmp_path / "registry.yaml")], stdout=log, stderr=log)
            )
        until(lambda: _listens(address), "no registry", told=(tmp_path / "registry.log").read_text)
        return address

    yield start
    for process in started:
        process.terminate()
        process.wait(timeout=120)


def _listens(address: str) -> bool:
    host, _, port = address.partition(":")
    with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=30):
        return True
    return False


def test_without_anything_named_only_nodes_that_have_it_are_used(
    swarm: SwarmEngines, deliver: Deliver, image: ImageFacts, said: list[str]
) -> None:
    with swarm.engine(2) as engine:
        engine.load(swarm.manager.saved(NAME))
    found = deliver({})
    assert found == Delivered(reference=image.id, without={swarm.node(3).id: "engine-3"})
    (line,) = said
    assert line == (
        f"node engine-3 has not got image {NAME} and gets no shard; STACKPROOF_REGISTRY names a registry to fetch it "
        "from, STACKPROOF_SWARM_ENGINES engines to carry it to"
    )


def test_an_image_is_carried_to_the_engines_that_are_named_and_lack_it(
    swarm: SwarmEngines, deliver: Deliver, image: ImageFacts, said: list[str]
) -> None:
    named = f"{swarm.address(2)}, {swarm.address(3)},"
    assert deliver({ENGINES: named}) == Delivered(reference=image.id)
    assert [line.partition(" now")[0] for line in said] == [f"● image {NAME} is on engine-{n}" for n in (2, 3)]
    assert swarm.has(3, NAME)
    assert deliver({ENGINES: named}) == Delivered(reference=image.id)
    assert len(said) == 2, "what is there already is not carried again"


def test_an_engine_that_is_away_or_full_does_not_hold_the_others_up(
    swarm: SwarmEngines, deliver: Deliver, image: ImageFacts, said: list[str]
) -> None:
    swarm.fill(3)
    found = deliver({ENGINES: f"unix:///no/such/engine.sock,{swarm.address(2)},{swarm.address(3)}"})
    assert found == Delivered(reference=image.id, without={swarm.node(3).id: "engine-3"})
    away, carried, full, without = said
    assert away.startswith("no Docker engine answered at unix:///no/such/engine.sock")
    assert carried.startswith(f"● image {NAME} is on engine-2 now")
    assert full.startswith(f"image {NAME} could not be carried to engine-3: ")
    assert "no space left on device" in full
    assert without.startswith("node engine-3 has not got image")


def test_a_node_that_takes_no_tasks_now_is_passed_over(
    swarm: SwarmEngines, deliver: Deliver, image: ImageFacts, said: list[str]
) -> None:
    swarm.drain(3)
    found = deliver({ENGINES: f"{swarm.address(2)},{swarm.address(3)}"})
    assert found == Delivered(reference=image.id)
    assert said[1:] == [f"engine-3 takes no tasks of the swarm, and gets no image {NAME}"]
    assert not swarm.has(3, NAME)


def test_an_engine_of_no_node_is_refused(swarm: SwarmEngines, deliver: Deliver) -> None:
    with pytest.raises(DockerError, match="is no node of the swarm at") as refused:
        deliver({ENGINES: "unix:///var/run/docker.sock"})
    assert "docker node ls" in str(refused.value.hint)


def test_nodes_fetch_an_image_from_a_registry_by_its_digest(
    swarm: SwarmEngines, deliver: Deliver, registry: Callable[..., str], said: list[str]
) -> None:
    address = registry()
    found = deliver({REGISTRY: f"{address}/some/where/", ENGINES: "unix:///not/looked/at"})
    name, _, digest = found.reference.partition("@")
    assert name == f"{address}/some/where/tried/small"
    assert digest.startswith("sha256:")
    assert len(digest) == len("sha256:") + 64
    assert found.without == {}
    assert said[0].startswith(f"● image {NAME} is at {address}/some/where, ")
    job = swarm.manager.create_job(
        JobSpec(name="tried", image=found.reference, replicas=3, per_node=1, labels=RUN, command=("/file",))
    )
    try:
        until(
            lambda: all(swarm.has(number, found.reference) for number in range(1, COUNT + 1)),
            "not fetched",
            told=lambda: swarm.manager.tasks(job),
        )
    finally:
        swarm.manager.remove_service(job)
    names = [item.name for item in swarm.manager.named()]
    assert NAME in names
    assert not [name for name in names if name.startswith(address)], "a name of the registry was left on the manager"


def test_credentials_are_those_of_dockers_own_configuration(
    swarm: SwarmEngines,
    deliver: Deliver,
    registry: Callable[..., str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address = registry(users=ALLOWED)
    with pytest.raises(DockerError, match="no basic auth credentials") as refused:
        deliver({REGISTRY: address})
    assert refused.value.hint == "`docker login` at that registry"
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    key = base64.b64encode(f"somebody:{PASSWORD}".encode()).decode()
    (tmp_path / "config.json").write_text(json.dumps({"auths": {address: {"auth": key}}}))
    with swarm.engine(1) as engine:
        facts = engine.image(NAME)
        assert facts is not None
        found = Delivery(
            engine=engine,
            name=NAME,
            image=facts,
            environ={REGISTRY: address},
            marks=RUN,
            say=lambda _: None,
            check=lambda: None,
        ).to(engine.nodes())
        job = engine.create_job(
            JobSpec(name="tried", image=found.reference, replicas=3, per_node=1, labels=RUN, command=("/file",))
        )
        try:
            until(
                lambda: all(swarm.has(number, found.reference) for number in range(1, COUNT + 1)),
                "not fetched",
                told=lambda: engine.tasks(job),
            )
        finally:
            engine.remove_service(job)


def test_a_registry_that_takes_nothing_is_told(swarm: SwarmEngines, deliver: Deliver) -> None:
    with pytest.raises(DockerError, match=r"image 127.0.0.1:9/tried/small:1 was not taken by its registry: "):
        deliver({REGISTRY: "127.0.0.1:9"})
    assert not [item.name for item in swarm.manager.named() if item.name.startswith("127.0.0.1:9")]
