"""Tests and library in one container: the image's packages, the project's tests, and no way out."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project

STACK = """
description: an application in a container together with its tests
modes: [docker-library]
python_path: ["."]
app: toy_app:create
docker: {dockerfile: Dockerfile, tests: requirements.txt, context: [toy_app.py], python: /venv/bin/python}
"""
APP = """
import sys

def create():
    async def app(scope, receive, send):
        if scope["type"] == "lifespan":
            while (await receive())["type"] != "lifespan.shutdown":
                await send({"type": "lifespan.startup.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": sys.executable.encode()})
    return app
"""
DOCKERFILE = """
ARG BASE
FROM ${BASE}
COPY wheels /wheels
COPY requirements.txt /wheels/
RUN python3 -m venv /venv && /venv/bin/pip install --no-index --find-links=/wheels -r /wheels/requirements.txt
COPY stack /stack
"""
# What `http_client` and the command need, of what the reference stack has.
CLIENT = (
    "anyio", "certifi", "charset-normalizer", "click", "h11", "httpcore2", "httpx2", "idna", "requests", "truststore",
    "typing-extensions", "urllib3",
)  # fmt: skip
TESTS = """
import sys

def test_the_library_answers_from_inside(http_client):
    assert http_client.get("/").text == "/venv/bin/python" == sys.executable

def test_it_is_what_was_built(stack):
    import toy_app
    assert toy_app.__file__ == "/stack/toy_app.py"
"""
SLOW = """
import pathlib, os, time
def test_one(): pass
def test_two():
    (pathlib.Path(os.environ["STACKPROOF_RUN_DIR"]) / "in-two").touch()
    time.sleep(900)
"""


@pytest.fixture
def toy(project: Project, contained: Callable[..., str]) -> str:
    """A stack whose tests run beside it; what pytest and the clients need is fetched as it is here."""
    contained("toy")
    folder = project.root / "stacks/toy"
    (folder / "stack.yaml").write_text(STACK)
    (folder / "Dockerfile").write_text(DOCKERFILE)
    (folder / "toy_app.py").write_text(APP)
    reference = Path(__file__).parents[4] / "stacks/reference"
    lines = (reference / "requirements.txt").read_text().splitlines(keepends=True)
    lines = [line for line in lines if line.partition("==")[0] in CLIENT]
    (folder / "requirements.txt").write_text("".join((*lines, (reference / "requirements-tests.txt").read_text())))
    return "docker-library:toy"


def test_the_library_is_the_images_and_the_tests_are_the_projects(project: Project, toy: str) -> None:
    project.tests(TESTS)
    done = project.run("--stack-config", toy)
    assert done.code == 0, done.output
    assert "2 passed" in done.output
    assert "sealed (network namespace)" in done.output
    assert (project.cell_dir() / "junit.xml").stat().st_uid == os.getuid()


def test_a_signal_reaches_pytest_inside_and_the_report_is_there(
    project: Project, toy: str, left_on_engine: Callable[[], list[str]]
) -> None:
    project.tests(SLOW)
    process = project.start("--stack-config", toy)
    project.wait_for(
        "test two",
        lambda: any(project.root.glob(".stackproof/runs/*/cells/*/in-two")) or process.poll() is not None,
        timeout=240,
    )
    assert process.poll() is None, project.finish(process)
    process.send_signal(signal.SIGINT)
    output = project.finish(process)
    assert process.returncode == 130, output
    assert "test_one" in (project.cell_dir() / "junit.xml").read_text()
    assert left_on_engine() == []


def test_pytest_by_itself_names_the_command_that_can(project: Project, toy: str) -> None:
    project.tests(TESTS)
    project.environ["STACKPROOF_STACK_CONFIG"] = toy
    done = project.run("tests/integration/base", program=("-m", "pytest", "-p", "no:cacheprovider"))
    assert done.code != 0
    assert "`stackproof run --stack-config docker-library:toy` does" in done.output


def test_a_stack_that_does_not_say_what_its_tests_need_is_told(project: Project, toy: str) -> None:
    folder = project.root / "stacks/toy"
    (folder / "stack.yaml").write_text(STACK.replace("tests: requirements.txt, ", ""))
    done = project.run("--stack-config", toy)
    assert done.code == 2, done.output
    assert "does not say what its tests need in a container" in done.output
