"""A run that was killed: what its tests had earned by then can still be put in place."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from stackproof.plan import RUNS

if TYPE_CHECKING:
    from tests.e2e.recorder.conftest import Project

KILLED = """
import os, signal

@pytest.fixture(scope="module")
def greeting(ask):
    return ask("hello")

def test_first(ask, greeting):
    ask("first")

def test_second(ask):
    ask("second")
    if os.environ.get("DIE_HERE"):
        os.kill(os.getpid(), signal.SIGKILL)
"""


def _promote(project: Project, run: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "stackproof", "recordings", "promote", run, *words]
    return subprocess.run(command, cwd=project.root, capture_output=True, text=True, timeout=240, check=False)


def test_recordings_of_passed_tests_and_their_fixtures_are_put_in_place(project: Project) -> None:
    project.test(KILLED)
    ended = project.pytest("record", DIE_HERE="1")
    assert ended.code == -9
    assert sorted(project.recordings()) == ["test_it.py::test_first first"]
    (run,) = (project.root / RUNS).iterdir()
    done = _promote(project, run.name)
    assert done.returncode == 0, done.stderr
    assert "1 file written, 0 removed" in done.stdout
    assert len(project.files()) == 2, "the fixture's answer is there now, the killed test's is not"
    assert project.pytest("replay", "-k", "test_first").code == 0


def test_promoting_again_changes_nothing(project: Project) -> None:
    project.test(KILLED)
    assert project.pytest("record").code == 0
    kept = project.contents()
    (run,) = (project.root / RUNS).iterdir()
    done = _promote(project, run.name, "--json")
    told = json.loads(done.stdout)
    assert (told["schema"], told["kind"], told["run"]) == (1, "recordings-promote", run.name)
    ((_, *counts),) = [cell.values() for cell in told["cells"]]
    assert counts == [0, 0, 0]
    assert project.contents() == kept


def test_a_run_that_recorded_nothing_is_named(project: Project) -> None:
    project.test("def test_nothing():\n    pass\n")
    assert project.pytest("replay").code == 0
    (run,) = (project.root / RUNS).iterdir()
    done = _promote(project, run.name)
    assert done.returncode == 2
    assert "recorded nothing" in done.stderr + done.stdout
    assert _promote(project, "ffffff").returncode == 2
