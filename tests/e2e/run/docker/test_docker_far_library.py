"""Tests and library in one container of an engine that shares nothing: all goes in and comes out."""

from __future__ import annotations

import io
import json
import os
import signal
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.engine_turn import alone
from tests.e2e.run.docker import somebody
from tests.e2e.run.docker.neighbours import SERVICE, Beside, PlaceOf

from stackproof import catalog
from stackproof.errors import DockerError
from stackproof.evidence import testlog
from stackproof.stack import contained_tests, wheelhouse
from stackproof.stack import engine as engines
from stackproof.stack.contained_tests import TestsInside
from stackproof.stack.engine import Engine
from stackproof.stack.engine_records import ContainerSpec
from stackproof.stack.luggage import Folder

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project

STACK = """
description: an application that asks a provider, in a container together with its tests
modes: [docker-library]
python_path: ["."]
app: toy_app:create
docker: {dockerfile: Dockerfile, tests: nothing.txt, context: [toy_app.py], python: /venv/bin/python}
"""
APP = """
import os, httpx

def create():
    async def app(scope, receive, send):
        if scope["type"] == "lifespan":
            while (await receive())["type"] != "lifespan.shutdown":
                await send({"type": "lifespan.startup.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        question = scope["path"].rpartition("/")[2]
        asked = {"model": "toy", "messages": [{"role": "user", "content": question}]}
        async with httpx.AsyncClient() as client:
            try:
                said = await client.post(os.environ["TOY_URL"] + "/chat/completions", json=asked)
                body = said.json()["choices"][0]["message"]["content"]
            except Exception as error:
                body = type(error).__name__
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body.encode()})
    return app
"""
BASE_IMAGE = """
ARG BASE
FROM ${BASE}
COPY wheels /wheels
RUN python3 -m venv /venv && /venv/bin/pip install --no-index /wheels/*.whl
"""
DOCKERFILE = "ARG BASE\nFROM ${BASE}\nCOPY stack /stack\n"
# What `http_client`, the command and the application need, of what the reference stack has.
NEEDS = (
    "anyio", "certifi", "charset-normalizer", "click", "h11", "httpcore", "httpcore2", "httpx", "httpx2", "idna",
    "requests", "sniffio", "truststore", "typing-extensions", "urllib3",
)  # fmt: skip
CONFTEST = """
import pytest

@pytest.fixture
def ask(http_client):
    return lambda question: http_client.get("/ask/" + question).text
"""
TESTS = """
import os, pathlib, sys
import helper

def test_one(ask):
    assert ask("one") == "good day"

def test_what_is_there_to_be_read():
    assert helper.__file__.startswith(os.environ["PROJECT"])
    root = pathlib.Path(os.environ["PROJECT"])
    assert (root / "linked.txt").is_symlink() and (root / "linked.txt").read_text() == "text"
    assert os.access(root / "program", os.X_OK) and not os.access(root / "linked.txt", os.X_OK)
    assert not (root / ".git").exists() and not (root / "environment").exists()
    assert sys.executable == "/venv/bin/python"
"""
SECOND = """
def test_two(ask):
    assert ask("two") == "good day"
"""
FAILS = """
def test_fails(ask):
    ask("fails")
    assert False
"""
WAITS = """
import os, pathlib, time

def test_waits():
    (pathlib.Path(os.environ["STACKPROOF_RUN_DIR"]) / "waits.log").write_text("here\\n")
    time.sleep(900)
"""


@pytest.fixture(scope="module")
def base(engine: Engine) -> Iterator[str]:
    """The base image with everything in it that tests and library need."""
    reference = Path(__file__).parents[4] / "stacks/reference"
    lines = (reference / "requirements.txt").read_text().splitlines(keepends=True)
    asked = "".join(line for line in lines if line.partition("==")[0] in NEEDS)
    asked += (reference / "requirements-tests.txt").read_text()
    start_from = os.environ["STACKPROOF_DOCKER_BASE"]
    target = wheelhouse.target_of(engine, start_from)
    wheels = wheelhouse.prepare(asked.encode(), target, environment=os.environ, say=lambda _: None, check=lambda: None)
    with io.BytesIO() as context:
        with tarfile.open(fileobj=context, mode="w") as archive:
            info = tarfile.TarInfo("Dockerfile")
            info.size = len(BASE_IMAGE)
            archive.addfile(info, io.BytesIO(BASE_IMAGE.encode()))
            for wheel in sorted(wheels.glob("*.whl")):
                archive.add(wheel, arcname=f"wheels/{wheel.name}")
        context.seek(0)
        tag = f"somebody/clients:{os.getpid()}"
        with alone():
            for _ in engine.build(context, tag=tag, arguments={"BASE": start_from}, labels={}):
                pass
    yield tag
    with alone():
        engine.remove_image(tag)


@pytest.fixture
def toy(project: Project, contained: Callable[..., str], far: None, base: str) -> Iterator[str]:
    """A library stack on an engine that shares nothing, and a provider on this machine."""
    contained("toy", dockerfile=DOCKERFILE)
    folder = project.root / "stacks/toy"
    for name, text in {"stack.yaml": STACK, "toy_app.py": APP, "nothing.txt": ""}.items():
        (folder / name).write_text(text)
    (project.root / "stacks/setups.yaml").write_text(somebody.SETUPS)
    project.environ.update({"STACKPROOF_DOCKER_BASE": base, "TOY_KEY": "none"})
    project.tests(CONFTEST, "conftest.py")
    with somebody.provider() as found:
        project.environ["TOY_URL"] = found.url
        yield "docker-library:toy"


def recordings(project: Project) -> set[str]:
    """Questions of all recordings on this side."""
    found = set()
    for path in (project.root / "recordings").rglob("*.json"):
        assert path.stat().st_uid == os.getuid()
        found.add(json.loads(path.read_text())["request"]["body"]["json"]["messages"][0]["content"])
    return found


def test_what_passed_is_recorded_and_replays_and_what_is_not_asked_for_again_goes(project: Project, toy: str) -> None:
    project.tests(TESTS, "test_first.py")
    project.tests("", "helper.py")
    project.tests(SECOND + FAILS, "test_second.py")
    (project.root / "text.txt").write_text("text")
    (project.root / "linked.txt").symlink_to("text.txt")
    (project.root / "program").touch(0o755)
    (project.root / ".git").mkdir()
    (project.root / ".git/config").touch()
    (project.root / "environment").mkdir()
    (project.root / "environment/pyvenv.cfg").touch()
    given = ("--stack-config", toy, "--env", f"PROJECT={project.root}")
    recorded = project.run(*given, "--inference-mode", "record")
    assert recorded.code == 1, recorded.output
    assert "sees no folders of this machine (STACKPROOF_DOCKER_SHARING=copy): " in recorded.output
    assert "test_fails" in recorded.output
    assert recorded.output.count("FAILED") <= 1
    # Of the test that failed nothing is kept.
    assert recordings(project) == {"one", "two"}
    assert "test_fails" in (project.cell_dir() / "junit.xml").read_text()
    assert "assert False" in (project.cell_dir() / "pytest.log").read_text()
    project.tests(SECOND, "test_second.py")
    replayed = project.run(*given)
    assert replayed.code == 0, replayed.output
    assert "2 replayed, 0 recorded, 0 missed, 0 unused; sealed (network namespace)" in replayed.output
    project.tests("def test_two(): pass\n", "test_second.py")
    again = project.run(*given, "--inference-mode", "record")
    assert again.code == 0, again.output
    assert recordings(project) == {"one"}
    project.tests(SECOND, "test_second.py")
    missed = project.run(*given)
    assert missed.code == 6, missed.output
    assert "had no recording" in missed.output


def test_a_shard_gets_its_times_in_there_and_what_it_was_comes_out(project: Project, toy: str) -> None:
    project.tests("import pytest\n@pytest.mark.parametrize('n', range(6))\ndef test_it(n): pass\n")
    # A file of times that no container sees.
    times = project.root.parent / "times.json"
    tests = {f"test_it[{n}]": 5 if n == 3 else 1 for n in range(6)}
    stacks = {"docker-library:toy": {"tests": {"tests/integration/base/test_it.py": tests}}}
    times.write_text(json.dumps({"schema": 1, "kind": "timings", "cells": {"base": {"local": stacks}}}))
    done = project.run("--stack-config", toy, "--shard", "1/2", "--timings", str(times))
    assert done.code == 0, done.output
    assert "shard 1/2: 1 of 6 tests, about 5.0 s of 10.0 s" in done.output
    assert list(testlog.read(project.cell_dir() / "tests.jsonl").tests) == [
        "tests/integration/base/test_it.py::test_it[3]"
    ]


@pytest.mark.parametrize("end", ["os._exit(3)", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_a_session_that_dies_in_there_names_the_test(project: Project, toy: str, end: str) -> None:
    project.tests(f"import os, signal\ndef test_one(): pass\ndef test_two(): {end}\n", "test_it.py")
    done = project.run("--stack-config", toy, "--inference-mode", "record")
    assert done.code == 1, done.output
    assert "inside of tests/integration/base/test_it.py::test_two: 1 of 2 tests have a result" in done.output
    log = testlog.read(project.cell_dir() / "tests.jsonl")
    assert log.running == ("tests/integration/base/test_it.py::test_two",)


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_reaches_pytest_there_and_what_it_made_so_far_comes_out(
    project: Project, toy: str, signum: int, code: int
) -> None:
    project.tests(SECOND, "test_first.py")
    project.tests(WAITS, "test_second.py")
    process = project.start("--stack-config", toy, "--inference-mode", "record")
    # It comes while the tests run, as the journals do.
    project.wait_for(
        "the second test",
        lambda: any(project.root.glob(".stackproof/runs/*/cells/*/waits.log")) or process.poll() is not None,
        timeout=240,
    )
    assert process.poll() is None, project.finish(process)
    assert "test_two" in (project.cell_dir() / "tests.jsonl").read_text()
    process.send_signal(signum)
    output = project.finish(process)
    assert process.returncode == code, output
    assert "test_two" in (project.cell_dir() / "junit.xml").read_text()
    assert (project.cell_dir() / "waits.log").read_text() == "here\n"
    assert recordings(project) == {"two"}


def test_containers_beside_it_are_called_by_their_names(project: Project, toy: str, beside: Beside) -> None:
    beside("first", env={"SAYS": "here I am"}, provides={"FIRST_URL": "http://{host}:{port}/"}, **SERVICE)
    project.tests(
        "import os, urllib.request\n"
        "def test_it_answers():\n"
        "    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))\n"
        "    assert opener.open(os.environ['FIRST_URL'], timeout=60).read() == b'here I am'\n"
    )
    done = project.run("--stack-config", toy)
    assert done.code == 0, done.output
    assert "first's address, " in done.output
    assert "cannot be reached from here: until it is ready a container leads to it" in done.output


class Foreign:
    """The engine of a machine on which no path of this one exists."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def create(self, spec: ContainerSpec) -> str:
        """As Docker says it."""
        if spec.mounts:
            raise DockerError('invalid mount config for type "bind": bind source path does not exist: /x')
        return self._engine.create(spec)

    def close(self) -> None:
        """Leave the engine of the tests open."""


def test_an_engine_that_knows_no_path_of_the_project_gets_copies(
    project: Project, place_of: PlaceOf, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a CI job was given the socket of its host's engine: nothing says so but the mount that fails."""
    monkeypatch.setattr(engines, "connect", lambda *_, **__: Foreign(engine))
    stack = catalog.load(project.root).stack("shop")
    (project.root / "cell").mkdir()
    program = "import os, pathlib; pathlib.Path('cell/written').write_text(str(os.path.exists('pyproject.toml')))"
    said: list[str] = []
    with place_of() as where:
        tests = contained_tests.make(
            stack,
            where,
            TestsInside(
                arguments=("-c", program),
                variables={},
                project=project.root,
                cell_dir=project.root / "cell",
                files=(),
                recordings=Folder(path=project.root / "recordings", files=()),
                records=True,
                shown=False,
            ),
            say=said.append,
        )
        try:
            tests.start()
            project.wait_for("its end", lambda: tests.poll() is not None)
            assert tests.poll() == 0, (project.root / "cell/pytest.log").read_text()
        finally:
            tests.stop()
    assert (project.root / "cell/written").read_text() == "True"
    assert len(said) == 1
    assert "sees no folders of this machine (" in said[0]
    assert " is not there)" in said[0]
