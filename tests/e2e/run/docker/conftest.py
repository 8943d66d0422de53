"""Stacks in containers of a real engine. Whatever a test leaves there is a failure of that test."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.e2e.engine_turn import alone
from tests.e2e.run.docker import elsewhere, standing
from tests.e2e.run.docker.elsewhere import Elsewhere
from tests.e2e.run.docker.neighbours import Beside, PlaceOf

from stackproof import catalog
from stackproof.errors import DockerError
from stackproof.stack import built, forwarder, place, ports, sharing, sweep
from stackproof.stack import engine as engines
from stackproof.stack.engine import Engine

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project

BASE = "STACKPROOF_DOCKER_BASE"

DOCKERFILE = """\
ARG BASE
FROM ${BASE}
COPY stack /stack
WORKDIR /stack
"""

SERVER = """
import http.server, json, os, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        status, body = {status}, b"ok"
        if self.path.startswith("/variable/"):
            body = json.dumps(os.environ.get(self.path.rpartition("/")[2])).encode()
{more}
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        print(self.path, flush=True)

print("starting", flush=True)
{before}
http.server.ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Handler).serve_forever()
"""

STACK = """
description: a server of the standard library, in a container
modes: [docker]
command: ["{{python}}", "server.py", "{{host}}", "{{port}}"]
under_exec: {under_exec}
readiness: {{path: /health, status: 200, timeout: {timeout}}}
docker: {{dockerfile: Dockerfile, context: [server.py]}}
"""


@pytest.fixture(autouse=True)
def turn() -> Iterator[None]:
    """These tests count what stands on the engine, so one runs at a time, whichever worker or pytest it belongs to."""
    with alone():
        yield


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    """The engine of this machine."""
    try:
        found = engines.connect(os.environ)
    except DockerError as error:
        pytest.skip(f"needs docker: {error.message}")
    with contextlib.closing(found):
        if not os.environ.get(BASE):
            pytest.skip(f"needs docker and a base image with Python in {BASE}")
        yield found


@pytest.fixture(scope="session")
def kept(engine: Engine) -> Iterator[set[str]]:
    """Names of stacks whose images stay for the tests that come next: equal ones are built once. Gone at the end."""
    names: set[str] = set()
    yield names
    with alone():
        _remove(engine, names)
        assert [item.name for item in built.of(engine) if built.stack_of(item) in names] == []


def _remove(engine: Engine, names: set[str]) -> None:
    for name in names:
        built.remove(engine, built.of(engine, name))


@pytest.fixture
def fresh(engine: Engine, turn: None, kept: set[str]) -> Iterator[None]:
    """No image of a test's stack is there, as on a machine that never ran it; nor afterwards."""
    kept.add("toy")  # one that was killed may have left it
    _remove(engine, kept)
    yield
    _remove(engine, kept)


@pytest.fixture
def left_on_engine(engine: Engine, turn: None) -> Callable[[], list[str]]:
    """Names of everything of ours that is on the engine and was not there when the test began."""
    before = {item.id for item in sweep.listed(engine)}
    return lambda: [f"{item.kind} {item.name}" for item in sweep.listed(engine) if item.id not in before]


@pytest.fixture(autouse=True)
def nothing_left(engine: Engine, turn: None, kept: set[str], left_on_engine: Callable[[], list[str]]) -> Iterator[None]:
    """Fail a test that leaves something on the engine: containers, networks, volumes, images, layers without a name."""
    kinds = ("volume", "image")
    before = standing.on(engine)
    yield
    assert left_on_engine() == []
    after = standing.on(engine, kept)
    assert {kind: sorted(after[kind] - before[kind]) for kind in kinds} == {kind: [] for kind in kinds}


@pytest.fixture(autouse=True)
def temporary(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A folder for what runs of the project keep for a moment: one that stays is a failure of the test."""
    with tempfile.TemporaryDirectory(prefix="sp-") as folder:  # a short name: sockets lie in it
        if "project" in request.fixturenames:
            request.getfixturevalue("project").environ["TMPDIR"] = folder
        yield Path(folder)
        # Of a run that was killed a process may still be on its way out.
        deadline = time.monotonic() + 60
        while (left := [path.name for path in Path(folder).glob("stackproof-*")]) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert left == []


@pytest.fixture
def contained(project: Project, kept: set[str]) -> Callable[..., str]:
    """Adds a stack to the project that runs in a container; returns what --stack-config takes."""
    project.environ[BASE] = os.environ[BASE]

    def add(
        name: str,
        *,
        status: int = 200,
        before: str = "",
        more: str = "",
        timeout: float = 90,
        dockerfile: str = DOCKERFILE,
        under_exec: bool = False,
    ) -> str:
        folder = project.root / "stacks" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "server.py").write_text(SERVER.format(status=status, before=before, more=more))
        (folder / "Dockerfile").write_text(dockerfile)
        (folder / "stack.yaml").write_text(STACK.format(timeout=timeout, under_exec=str(under_exec).lower()))
        kept.add(name)
        return f"docker:{name}"

    return add


@pytest.fixture
def beside(project: Project) -> Beside:
    """Adds a container that the setup needs, from the base image as it is."""
    names: list[str] = []

    def add(name: str, **more: object) -> None:
        names.append(name)
        folder = project.root / "stacks" / name
        folder.mkdir(parents=True, exist_ok=True)
        spec = {"description": "d", "docker": {"image": os.environ[BASE]}, **more}
        (folder / "container.yaml").write_text(json.dumps(spec))
        (project.root / "stacks" / "setups.yaml").write_text(
            json.dumps({"local": {"description": "d", "env": {"TOKEN": ""}, "containers": names}})
        )

    return add


@pytest.fixture
def place_of(project: Project, contained: Callable[..., str]) -> PlaceOf:
    """A network and the image of a stack, without the stack."""
    contained("shop")
    stack = catalog.load(project.root).stack("shop")
    return lambda: place.opened(
        stack,
        run_id="broken",
        owner=os.getpid(),
        internal=True,
        environment=os.environ,
        without="",
        say=lambda _: None,
        check=lambda: None,
    )


@pytest.fixture
def far(project: Project, engine: Engine) -> Iterator[None]:
    """Runs of the project find the engine at a TCP port, and share nothing with it."""
    assert engine.endpoint.socket is not None
    port = ports.free_port()
    with forwarder.forwarding(f"127.0.0.1:{port}", str(engine.endpoint.socket)):
        project.environ["DOCKER_HOST"] = f"tcp://127.0.0.1:{port}"
        project.environ[sharing.VARIABLE] = "copy"
        yield


@pytest.fixture(scope="session")
def another_machine(engine: Engine) -> Iterator[Elsewhere]:
    """An engine that shares nothing with this machine, with the base image; one for all tests that want it."""
    missing = [name for name in ("docker", "dockerd", "ip", "openssl") if shutil.which(name) is None]
    if missing or os.getuid() != 0:
        pytest.skip(f"needs docker twice: {', '.join(missing) or 'root'} is missing for another engine")
    # It has an address of its own, so there is one at a time; it waits before any test has its turn.
    # Its folder is none of pytest's own, of which only the newest stay while several of it run.
    with (
        alone("elsewhere"),
        tempfile.TemporaryDirectory(prefix="sp-elsewhere-") as folder,
        elsewhere.started(Path(folder), [os.environ[BASE]]) as found,
    ):
        yield found


@pytest.fixture
def remote(another_machine: Elsewhere) -> Iterator[Elsewhere]:
    """The same; whatever a test leaves there, or on the way there, is a failure of it."""
    before = standing.on(another_machine.engine, {"toy", "distant"})
    yield another_machine
    after = standing.on(another_machine.engine, {"toy", "distant"})
    sweep.everything(another_machine.engine)
    assert after == before
    assert another_machine.ways() == []
