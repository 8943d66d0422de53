"""An image as somebody else has built it: recorded and replayed with the recorder inside, and changed in nothing."""

from __future__ import annotations

import contextlib
import io
import json
import os
import tarfile
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from tests.e2e.engine_turn import alone
from tests.e2e.run.docker import somebody

from stackproof.stack import wheelhouse
from stackproof.stack.engine import Engine

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project

_OTHER, _OLD = "stackproof-base:trixie", "stackproof-base:bullseye"
KEY = "tk-" + "51b0c7e9" * 4


def base(engine: Engine, name: str) -> str:
    """An image of Debian with a Python that is not this one; skips where it is not on the engine."""
    if engine.image(name) is None:
        pytest.skip(f"needs docker and the image {name} (ci/base-image)")
    return name


@pytest.fixture(scope="module")
def image(engine: Engine) -> Iterator[str]:
    """The image of somebody who knows nothing of us: Python 3.13, click 7, httpx 0.25."""
    start_from = base(engine, _OTHER)
    target = wheelhouse.target_of(engine, start_from)
    wheels = wheelhouse.prepare(
        somebody.REQUIREMENTS, target, environment=os.environ, say=lambda _: None, check=lambda: None
    )
    tag = f"somebody/gateway:{os.getpid()}"
    try:
        with alone():
            for _ in engine.build(somebody.context(wheels), tag=tag, arguments={"BASE": start_from}, labels={}):
                pass
        yield tag
    finally:
        with alone():
            engine.remove_image(tag)


@pytest.fixture
def gateway(project: Project, image: str) -> Project:
    """A project that says no more of the image than its name and port."""
    folder = project.root / "stacks/gateway"
    folder.mkdir()
    (folder / "stack.yaml").write_text(somebody.STACK.format(image=image))
    (project.root / "stacks/setups.yaml").write_text(somebody.SETUPS)
    project.tests(somebody.TESTS)
    return project


def test_its_calls_are_recorded_and_replayed_by_a_recorder_inside(gateway: Project, engine: Engine, image: str) -> None:
    before = engine.image(image)
    with somebody.provider() as provider:
        gateway.environ.update({"TOY_URL": provider.url, "TOY_KEY": KEY})
        done = gateway.run("--stack-config", "docker:gateway", "--inference-mode", "record")
        assert done.code == 0, done.output
        assert [call["authorization"] for call in provider.asked] == [f"Bearer {KEY}"]
    (recording,) = (gateway.root / "recordings/local").rglob("*.json")
    assert "good day" in recording.read_text()
    assert KEY not in recording.read_text()
    assert (gateway.cell_dir() / "stack.log").read_text().startswith(f"started as {os.getuid()} with 3 words\n")

    del gateway.environ["TOY_URL"], gateway.environ["TOY_KEY"]
    done = gateway.run("--stack-config", "docker:gateway")
    assert done.code == 0, done.output
    assert "2 passed" in done.output
    assert "sealed (network namespace)" in done.output
    (mark, *_) = [json.loads(path.read_text()) for path in (gateway.cell_dir() / "marks").iterdir()]
    assert (mark["python"][:4], mark["executable"]) == ("3.13", "/venv/bin/python")
    assert engine.image(image) == before


def test_without_its_recordings_each_call_is_missed_and_named(gateway: Project) -> None:
    done = gateway.run("--stack-config", "docker:gateway")
    assert done.code == 6, done.output
    assert "no recording for POST /chat/completions of toy" in done.output


@contextlib.contextmanager
def made(engine: Engine, dockerfile: str, start_from: str) -> Iterator[str]:
    """An image of no more than a Dockerfile."""
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as archive:
        info = tarfile.TarInfo("Dockerfile")
        info.size = len(dockerfile.encode())
        archive.addfile(info, io.BytesIO(dockerfile.encode()))
    context.seek(0)
    tag = f"somebody/plain:{os.getpid()}"
    try:
        for _ in engine.build(context, tag=tag, arguments={"BASE": start_from}, labels={}):
            pass
        yield tag
    finally:
        engine.remove_image(tag)


def test_a_python_that_is_too_old_is_told_in_a_sentence(gateway: Project, engine: Engine) -> None:
    dockerfile = 'ARG BASE\nFROM ${BASE}\nCMD ["python3", "-m", "http.server", "9000"]\n'
    with made(engine, dockerfile, base(engine, _OLD)) as tag:
        (gateway.root / "stacks/gateway/stack.yaml").write_text(somebody.STACK.format(image=tag))
        done = gateway.run("--stack-config", "docker:gateway")
    assert done.code == 5, done.output
    assert "gateway: the recorder needs Python 3.11 or newer; /usr/bin/python3 is Python 3.9" in done.output
    assert "Traceback" not in done.output


def test_an_image_without_python_is_told_in_a_sentence(gateway: Project, engine: Engine) -> None:
    dockerfile = 'ARG BASE\nFROM ${BASE}\nRUN rm -f /usr/bin/python3*\nCMD ["/bin/sleep", "60"]\n'
    with made(engine, dockerfile, os.environ["STACKPROOF_DOCKER_BASE"]) as tag:
        (gateway.root / "stacks/gateway/stack.yaml").write_text(somebody.STACK.format(image=tag))
        done = gateway.run("--stack-config", "docker:gateway")
    assert done.code == 5, done.output
    assert f"gateway cannot run in image {tag}: there is no python3 in it" in done.output
    assert "Traceback" not in done.output


def test_an_image_that_is_not_there_is_named(gateway: Project) -> None:
    (gateway.root / "stacks/gateway/stack.yaml").write_text(somebody.STACK.format(image="nobody/has:this"))
    done = gateway.run("--stack-config", "docker:gateway")
    assert done.code == 4, done.output
    assert "the image of stack 'gateway', nobody/has:this, is not on the engine at" in done.output
