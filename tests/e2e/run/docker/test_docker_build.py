"""What builds leave: a name on everything, a cache that still serves, and nothing that runs once one is broken off."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from stackproof.stack import built
from stackproof.stack.engine import Engine

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project

Add = Callable[..., str]
pytestmark = pytest.mark.usefixtures("fresh")

STAGES = """\
ARG BASE
FROM ${BASE} AS installed
RUN echo done in the first stage > /made
FROM ${BASE}
COPY --from=installed /made /made
COPY stack /stack
WORKDIR /stack
"""
SLOW = "ARG BASE\nFROM ${BASE}\nCOPY stack /stack\nRUN echo asleep && sleep 900\n"


def own() -> str:
    """A line by which the server is like no other: a layer that is part of an image of others has their name."""
    return f"        # {os.urandom(8).hex()}"


def in_slow_step(project: Project, stack: str) -> subprocess.Popen[str]:
    """A run whose image is being built, in a step that is silent."""
    process = project.start("--stack-config", stack)
    assert process.stdout is not None
    while "asleep" not in (line := process.stdout.readline()) or "RUN" in line:
        assert line, "the build has ended"
    return process


def nameless(engine: Engine) -> set[str]:
    return {item.id for item in engine.nameless()}


def containers(engine: Engine) -> set[str]:
    return {str(item["Id"]) for item in engine._client.containers(all=True)}


def test_a_build_in_stages_names_what_it_leaves_and_the_next_one_uses_it(
    project: Project, contained: Add, engine: Engine
) -> None:
    before = nameless(engine)
    first = project.run("--stack-config", contained("toy", dockerfile=STAGES))
    assert first.code == 0, first.output
    assert nameless(engine) == before
    images = built.of(engine, "toy")
    (kept,) = [item for item in images if f":{built.KEPT}" in item.name]
    assert len(images) == 2
    changed = project.run("--stack-config", contained("toy", dockerfile=STAGES, more="        assert True"))
    assert changed.code == 0, changed.output
    first_stage = changed.output.partition("RUN echo done in the first stage")[2].partition("Step ")[0]
    assert "Using cache" in first_stage
    assert nameless(engine) == before
    assert [item for item in built.of(engine, "toy") if f":{built.KEPT}" in item.name] == [kept]


def test_images_go_when_they_are_told_to_and_not_while_they_are_used(
    project: Project, contained: Add, engine: Engine
) -> None:
    done = project.run("--stack-config", contained("toy", dockerfile=STAGES))
    assert done.code == 0, done.output
    images = built.of(engine, "toy")
    (used,) = [item.name for item in images if f":{built.KEPT}" not in item.name]
    container = str(engine._client.create_container(used, "true")["Id"])
    try:
        lines = built.remove(engine, images)
    finally:
        engine.remove(container)
    assert lines[0] == "removed 0 images that stacks were built into, and 1 that were kept for a next build"
    assert lines[1].startswith(f"{used} stays: ")
    (stays,) = built.of(engine, "toy")
    assert built.remove(engine, (stays,))[0].startswith("removed 1 image that stacks were built into, and 0 ")
    assert built.of(engine, "toy") == ()


def test_a_signal_ends_a_build_in_a_silent_step_and_what_is_left_of_it_has_a_name(
    project: Project, contained: Add, engine: Engine
) -> None:
    unnamed, before = nameless(engine), containers(engine)
    process = in_slow_step(project, contained("toy", dockerfile=SLOW, more=own()))
    assert len(containers(engine) - before) == 1
    process.send_signal(signal.SIGINT)
    output = project.finish(process)
    assert process.returncode == 130, output
    assert containers(engine) == before
    assert nameless(engine) == unnamed
    (kept,) = built.of(engine, "toy")
    assert f":{built.KEPT}" in kept.name


def test_a_killed_build_runs_no_longer_and_the_next_names_what_it_left(
    project: Project, contained: Add, engine: Engine
) -> None:
    unnamed, before = nameless(engine), containers(engine)
    stack = contained("toy", dockerfile=SLOW, more=own())
    process = in_slow_step(project, stack)
    project.kill(process, *_children(process.pid))
    project.wait_for("the end of the build", lambda: containers(engine) == before)
    (left,) = nameless(engine) - unnamed
    again = in_slow_step(project, stack)
    again.send_signal(signal.SIGTERM)
    project.finish(again)
    assert nameless(engine) == unnamed
    assert [item.id for item in built.of(engine, "toy")] == [left]


def _children(pid: int) -> list[int]:
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout.split()
    return [int(item) for item in found]
