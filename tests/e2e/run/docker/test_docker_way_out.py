"""No way out of containers beside a stack in replay: a connection fails at once, and so does the search for a name."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.run.docker.neighbours import JOB, Beside, PlaceOf, script, start_beside

from stackproof import catalog
from stackproof.errors import DockerError
from stackproof.stack import engine as engines
from stackproof.stack import labels, sweep
from stackproof.stack.engine import Engine
from stackproof.stack.engine_records import ContainerSpec

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project

OUT = """
import json, socket, time

def tried(what):
    began, said = time.monotonic(), "it went"
    try:
        what()
    except OSError as error:
        said = error.strerror or str(error)
    print(json.dumps([said, time.monotonic() - began]), flush=True)

tried(lambda: socket.create_connection(("192.0.2.1", 80), timeout=30))
tried(lambda: socket.create_connection(("1.1.1.1", 443), timeout=30))
tried(lambda: socket.getaddrinfo("api.openai.com", 443))
print(open("/proc/self/status").read().partition("CapEff:\\t")[2].split()[0])
"""
NET_ADMIN = 1 << 12


def connections(text: str) -> list[tuple[str, float]]:
    """What became of each try, and after how many seconds."""
    return [tuple(json.loads(line)) for line in text.splitlines() if line.startswith("[")]


def test_a_connection_out_of_one_fails_at_once_and_it_has_no_right_of_its_own(
    project: Project, contained: Callable[..., str], beside: Beside
) -> None:
    beside("first", command=["python3", "-c", OUT], **JOB)
    beside("second", ready={"command": ["true"]}, **script("exec sleep 900"))
    done = project.run("--stack-config", contained("shop"))
    assert done.code == 0, done.output
    log = (project.cell_dir() / "first.log").read_text()
    tries = connections(log)
    assert [said for said, _ in tries[:2]] == ["Network is unreachable"] * 2
    assert tries[2][0] != "it went"
    assert max(seconds for _, seconds in tries) < 4
    assert not int(log.split()[-1], 16) & NET_ADMIN
    assert "hangs in place of failing" not in done.output


def test_a_connection_out_of_the_database_fails_at_once(project: Project, engine: Engine, place_of: PlaceOf) -> None:
    postgres = catalog.load(project.root).container("postgres")
    if engine.image(postgres.docker.base) is None:
        pytest.skip(f"needs docker and the image {postgres.docker.base} (ci/postgres-image)")
    given = {"POSTGRES_DB": "stack", "POSTGRES_USER": "stack", "POSTGRES_PASSWORD": "stack"}
    with place_of() as where, ExitStack() as undo:
        start_beside([postgres], where, undo, project.root, variables=given)
        (container,) = [item for item in sweep.listed(engine) if item.labels.get(labels.SERVICE) == "postgres"]
        out = "timeout 20 bash -c 'echo >/dev/tcp/192.0.2.1/80' 2>&1 | grep -q 'Network is unreachable'"
        assert engine.run_inside(container.id, ["sh", "-c", out]) == 0
        assert engine.run_inside(container.id, ["timeout", "4", "getent", "hosts", "api.openai.com"]) == 2
        # Whoever is beside it is still found.
        assert engine.run_inside(container.id, ["timeout", "4", "getent", "hosts", "localhost"]) == 0


class Strict:
    """The engine, which gives nobody a right beside the usual ones."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def create(self, spec: ContainerSpec) -> str:
        """As some rootless engines do."""
        if spec.capabilities:
            raise DockerError("the engine gives no container NET_ADMIN")
        return self._engine.create(spec)

    def close(self) -> None:
        """Leave the engine of the tests open."""


@pytest.mark.parametrize("why", ["the engine gives no container NET_ADMIN", "/nowhere/python"], ids=["strict", "bare"])
def test_where_it_cannot_be_done_that_is_said_once_and_names_are_taken_away_all_the_same(  # noqa: PLR0917 - fixtures
    project: Project,
    beside: Beside,
    engine: Engine,
    place_of: PlaceOf,
    monkeypatch: pytest.MonkeyPatch,
    why: str,
) -> None:
    if not why.startswith("/"):
        monkeypatch.setattr(engines, "connect", lambda *_, **__: Strict(engine))
    for name in ("first", "second"):
        beside(name, **JOB, **script("cat /etc/resolv.conf; id -u"))
    known = catalog.load(project.root)
    said: list[str] = []
    with place_of() as found, ExitStack() as undo:
        where = replace(found, python=why) if why.startswith("/") else found
        specs = [known.container("first"), known.container("second")]
        start_beside(specs, where, undo, project.root, say=said.append)
    told = [line for line in said if not line.startswith("●")]
    assert len(told) == 1, told
    assert told[0].startswith("a connection out of containers beside the stack hangs in place of failing at once: ")
    assert why in told[0]
    for name in ("first", "second"):
        assert "nameserver 127.0.0.1\n" in (project.root / "cell" / f"{name}.log").read_text()


def test_another_image_does_it_for_a_stack_without_python(project: Project, beside: Beside, place_of: PlaceOf) -> None:
    beside("first", command=["python3", "-c", OUT], **JOB)
    said: list[str] = []
    with place_of() as found, ExitStack() as undo:
        where = replace(found, python="/nowhere/python")
        specs = [catalog.load(project.root).container("first")]
        start_beside(specs, where, undo, project.root, say=said.append, helper=found)
    assert [line.split()[1:3] for line in said] == [["first", "completed"]]
    tries = connections((project.root / "cell/first.log").read_text())
    assert [text for text, _ in tries[:2]] == ["Network is unreachable"] * 2
