"""Shards on three engines by the real command: together they are the run, and nothing of them stays."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.run.conftest import Project, wait_for
from tests.e2e.run.conftest import project as project  # noqa: PLC0414 - a fixture
from tests.e2e.swarm import swarm_project
from tests.e2e.swarm.swarm_engines import SwarmEngines
from tests.e2e.swarm.swarm_project import SwarmProject

KEY = "sk-toy-0123456789abcdef"
MIXED = """
import subprocess
import pytest

@pytest.mark.parametrize("number", range(8))
def test_passes(number): pass

@pytest.mark.skip(reason="never")
def test_is_skipped(): pass

def test_a_program_of_its_own_reaches_nobody():
    done = subprocess.run(["bash", "-c", "exec 3<>/dev/tcp/stackproof-depot/8077"], capture_output=True, timeout=120)
    assert done.returncode != 0

def test_fails(): assert "what is there" == "what should be"
"""
KEYED = f"""
import os, time

def test_has_the_key():
    assert os.environ["TOY_API_KEY"] == "-".join({KEY.split("-")})
    time.sleep(4)
"""


@pytest.fixture
def swarmed(project: Project, swarm: SwarmEngines) -> SwarmProject:
    """A small project on the swarm."""
    return swarm_project.made(project, swarm)


def test_every_test_runs_once_and_what_fails_is_shown(swarmed: SwarmProject) -> None:
    swarmed.project.tests(MIXED)
    done = swarmed.run()
    assert done.code == 1, done.output
    assert "what is there" in done.output
    assert "base 11/11  9 passed, 1 failed, 1 skipped" in done.output
    assert "sealed (network namespace)" in done.output
    assert "again: stackproof run --stack-config library:toy --engine swarm --shards 3" in done.output
    assert list(swarmed.shards()) == ["1of3", "2of3", "3of3"]
    ran = swarmed.ran()
    assert len(ran) == len(set(ran)) == 11
    manifest = json.loads((swarmed.project.run_dir() / "manifest.json").read_text())
    for name, folder in swarmed.shards().items():
        result = json.loads((folder / "result.json").read_text())
        assert result["sealed"] == "namespace"
        assert result["cell"]["shard"] == {"index": int(name[0]), "total": 3}
        assert f"--shard {name[0]}/3" in result["command"]
        assert f"cells/{folder.name}/shard.json" in manifest["files"]
    told = swarmed.told()
    assert {shard["delivered_by"] for shard in told["shards"]} == {1}
    assert {attempt["node"] for shard in told["shards"] for attempt in shard["attempts"]} == {
        "engine-1",
        "engine-2",
        "engine-3",
    }


def test_more_shards_than_tests_are_green_and_json_is_all_that_is_printed(swarmed: SwarmProject) -> None:
    swarmed.sleeping(2, 0.0)
    done = swarmed.run("--json")
    assert done.code == 0, done.output
    found = json.loads(done.output)
    assert [cell["exit_code"] for cell in found["cells"]] == [0, 0, 0]
    assert sum(len(cell["tests"]) for cell in found["cells"]) == 2
    assert {cell["whole"] for cell in found["cells"]} == {"base-local-library-toy"}


def test_a_key_reaches_the_tests_and_stands_nowhere_on_the_swarm(swarmed: SwarmProject) -> None:
    swarmed.project.tests(KEYED)
    swarmed.project.environ["TOY_API_KEY"] = KEY
    process = swarmed.start("--setup", "keyed", "--inference-mode", "live", shards=1)
    manager = swarmed.engines.manager
    client: Any = manager._client
    try:
        wait_for("a job", lambda: bool(manager.owned_in_swarm("dev.stackproof.run-id")), timeout=240)
        wait_for("a task", lambda: any("job" in item.name for item in manager.owned_in_swarm("dev.stackproof.run-id")))
        said = [json.dumps(client.inspect_service(item["ID"])) for item in client.services()]
        said += [json.dumps(client.secrets()), json.dumps(client.tasks())]
        said += [json.dumps(client.inspect_container(item["Id"])) for item in client.containers()]
    finally:
        output = swarmed.project.finish(process, 240)
    assert process.returncode == 0, output
    assert "1 passed" in output
    assert "/run/secrets" not in output
    assert any("STACKPROOF_PIECES" in text for text in said)
    assert [text for text in said if KEY in text] == []
    written = [path for path in Path(swarmed.project.run_dir()).rglob("*") if path.is_file()]
    assert [path for path in written if KEY.encode() in path.read_bytes()] == []


def test_ctrl_c_takes_everything_away_and_keeps_what_was_delivered(swarmed: SwarmProject) -> None:
    swarmed.project.tests("def test_quick(): pass\n", "test_a.py")
    swarmed.project.tests("import time\ndef test_long(): time.sleep(900)\n", "test_b.py")
    process = swarmed.start(shards=2)
    delivered = swarmed.root / ".stackproof" / "runs"
    wait_for("a delivery", lambda: any(delivered.glob("*/cells/*of2")) or process.poll() is not None, timeout=240)
    process.send_signal(signal.SIGINT)
    output = swarmed.project.finish(process, 240)
    assert process.returncode == 130, output
    assert "SIGINT: the shards were stopped and everything was taken away" in output
    assert "left on the swarm" not in output
    assert len(swarmed.shards()) == 1
    assert len(swarmed.ran()) in (1, 2)
    assert not any("test_long" in test for test in swarmed.ran())


def test_a_manager_that_takes_no_tasks_is_told_what_to_do(swarmed: SwarmProject) -> None:
    swarmed.engines.drain(1)
    done = swarmed.run()
    assert done.code == 4, done.output
    assert "takes no tasks (it is drained), so what takes in the results of the shards cannot run beside" in done.output
    assert "`docker node update --availability active engine-1`" in done.output


def test_an_engine_that_manages_no_swarm_is_told_what_to_do(swarmed: SwarmProject) -> None:
    swarmed.project.environ["DOCKER_HOST"] = swarmed.engines.address(2)
    done = swarmed.run()
    assert done.code == 4, done.output
    assert "is a worker of its swarm, and only a manager starts jobs" in done.output
    assert "name a manager with DOCKER_HOST" in done.output
