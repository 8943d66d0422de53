"""Engines that die, are cut off or full in the middle of a run: it ends as it would have, or says what is missing."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from tests.e2e.run.conftest import Finished, Project, wait_for
from tests.e2e.run.conftest import project as project  # noqa: PLC0414 - a fixture
from tests.e2e.swarm import swarm_project
from tests.e2e.swarm.swarm_engines import SwarmEngines
from tests.e2e.swarm.swarm_project import SwarmProject

from stackproof.errors import DockerError
from stackproof.stack.engine_records import TaskFacts

RUN = "dev.stackproof.run-id"
# The first test that runs leaves a sign where it runs.
SIGN = "/var/tests-have-begun"
TESTS = f"""
import pytest, time
from pathlib import Path

@pytest.mark.parametrize("number", range({{number}}))
def test_it(number, tmp_path):
    Path("{SIGN}").touch()
    for _ in range({{tenths}}):
        (tmp_path / "written").write_bytes(b"x" * 4096)
        time.sleep(0.1)
"""
ENDING = """
import os, signal

def test_quick(): pass
def test_second(): pass
def test_ends_all_that_runs(): os.kill(-1, signal.SIGKILL)
"""


@pytest.fixture
def swarmed(project: Project, swarm: SwarmEngines) -> SwarmProject:
    """A small project on the swarm."""
    return swarm_project.made(project, swarm)


def running_on(swarmed: SwarmProject, number: int) -> TaskFacts | None:
    """The task that runs on an engine."""
    manager = swarmed.engines.manager
    node = swarmed.engines.node(number).id
    services = [item.id for item in manager.owned_in_swarm(RUN) if item.kind == "service" and "job" in item.name]
    tasks = [task for service in services for task in manager.tasks(service)]
    return next((task for task in tasks if task.node == node and task.state == "running"), None)


def meanwhile(swarmed: SwarmProject, process: subprocess.Popen[str], number: int, happens: Callable[[], None]) -> str:
    """Let something happen once tests run on an engine; what the run says, to its end."""
    try:
        begun = f"tests on engine-{number}"
        wait_for(begun, lambda: _has_begun(swarmed, number) or process.poll() is not None, timeout=480)
        if process.poll() is None:
            happens()
    except BaseException:
        process.send_signal(signal.SIGTERM)
        raise
    finally:
        output = swarmed.project.finish(process, 480)
    return output


def _has_begun(swarmed: SwarmProject, number: int) -> bool:
    task = running_on(swarmed, number)
    if task is None:
        return False
    with swarmed.engines.engine(number) as engine, contextlib.suppress(DockerError):
        return engine.run_inside(task.container, ("test", "-e", SIGN), as_root=True) == 0
    return False  # it has ended meanwhile


def attempts(swarmed: SwarmProject) -> list[dict[str, Any]]:
    """Every attempt at a shard, in the order of shards."""
    return [attempt for shard in swarmed.told()["shards"] for attempt in shard["attempts"]]


def verdict(swarmed: SwarmProject) -> Finished:
    """What `stackproof verdict` says of the run, by a policy that asks for its only cell."""
    (swarmed.root / "ci").mkdir()
    (swarmed.root / "ci" / "release.yaml").write_text(
        'version: 1\ncells:\n  - {suite: base, setup: local, stack: "library:toy"}\n'
    )
    return swarmed.project.run(str(swarmed.project.run_dir()), program=("-m", "stackproof", "verdict"))


def test_shards_of_an_engine_that_dies_run_elsewhere(swarmed: SwarmProject) -> None:
    swarmed.project.tests(TESTS.format(number=9, tenths=20))
    process = swarmed.start()
    output = meanwhile(swarmed, process, 3, lambda: swarmed.engines.kill(3))
    assert process.returncode == 0, output
    assert "its node engine-3 is down" in output
    assert "9 passed" in output
    ran = swarmed.ran()
    assert len(ran) == len(set(ran)) == 9
    lost = [attempt for attempt in attempts(swarmed) if attempt["node"] == "engine-3"]
    assert [attempt["failed"] for attempt in lost] == ["its node engine-3 is down"]
    assert sorted(shard["delivered_by"] for shard in swarmed.told()["shards"]) == [1, 1, 2]
    judged = verdict(swarmed)
    assert "shard" not in judged.output
    assert "✓ sealed                      network namespace in every cell" in judged.output


def test_an_engine_that_comes_back_from_being_cut_off_counts_once(swarmed: SwarmProject) -> None:
    swarmed.project.tests(TESTS.format(number=6, tenths=40))
    process = swarmed.start()

    def cut_off_for_a_while() -> None:
        swarmed.engines.cut(2)
        swarmed.engines.becomes(2, "down")
        wait_for("another attempt", lambda: _jobs(swarmed) == 2)
        swarmed.engines.heal(2)

    output = meanwhile(swarmed, process, 2, cut_off_for_a_while)
    assert process.returncode == 0, output
    assert "its node engine-2 is down" in output
    ran = swarmed.ran()
    assert len(ran) == len(set(ran)) == 6
    assert "6 passed" in output


def _jobs(swarmed: SwarmProject) -> int:
    return sum("job" in item.name for item in swarmed.engines.manager.owned_in_swarm(RUN))


def test_shards_of_a_node_that_is_drained_run_elsewhere(swarmed: SwarmProject) -> None:
    swarmed.engines.drain(2)
    swarmed.project.tests(TESTS.format(number=4, tenths=40))
    process = swarmed.start(shards=2)
    output = meanwhile(swarmed, process, 3, lambda: swarmed.engines.drain(3))
    assert process.returncode == 0, output
    assert "swarm of 2 nodes" in output
    assert "4 passed" in output
    assert [attempt["node"] for attempt in attempts(swarmed) if attempt["failed"] is None] == ["engine-1"] * 2
    (failed,) = [attempt["failed"] for attempt in attempts(swarmed) if attempt["failed"] is not None]
    assert "on engine-3" in failed


def test_an_engine_whose_disk_is_full_is_passed_over(swarmed: SwarmProject) -> None:
    swarmed.project.tests(TESTS.format(number=6, tenths=30))
    process = swarmed.start()
    output = meanwhile(swarmed, process, 3, lambda: swarmed.engines.fill(3))
    assert process.returncode == 0, output
    ran = swarmed.ran()
    assert len(ran) == len(set(ran)) == 6
    assert "6 passed" in output
    on_full = [attempt for attempt in attempts(swarmed) if attempt["node"] == "engine-3"]
    assert len(on_full) == 1
    assert "no room is left on the disk of its node" in on_full[0]["failed"]


def test_a_shard_that_nobody_delivers_is_named(swarmed: SwarmProject) -> None:
    swarmed.project.tests(ENDING)
    done = swarmed.run()
    assert done.code not in (0, 1), done.output
    told = [shard for shard in swarmed.told()["shards"] if shard["delivered_by"] is None]
    assert len(told) == 1
    assert len(told[0]["attempts"]) == 3
    assert len({attempt["node"] for attempt in told[0]["attempts"]}) == 3, "each attempt is on another node"
    assert len(swarmed.ran()) == 2
    judged = verdict(swarmed)
    assert judged.code == 7, judged.output
    missing = told[0]["cell"].rpartition(".")[2].replace("of", "/")
    assert f"shard {missing} of base × local × library:toy is missing" in judged.output
    assert (
        f"again: stackproof verify-release\n       stackproof run --stack-config library:toy --shard {missing}\n"
        in (judged.output)
    )
