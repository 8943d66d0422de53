"""`--inference-mode verify` over whole runs: every call goes out, and no byte below recordings/ changes."""

from __future__ import annotations

import json
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.recorder.conftest import Probe, Project

_TESTS = """
@pytest.fixture(scope="module")
def wide(ask):
    return ask("wide").json()["text"]

def test_a(ask, wide):
    ask("one")
    ask("one")

def test_b(ask, wide):
    ask("two", to="stream")
"""


def digest(folder: Path) -> str:
    """Of all that is below a folder: names, contents, times, permissions."""
    told = []
    for path in sorted(folder.rglob("*")):
        about = path.stat()
        content = path.read_bytes() if path.is_file() else b""
        told.append(f"{path.relative_to(folder)} {about.st_mtime_ns} {about.st_mode} {sha256(content).hexdigest()}")
    return sha256("\n".join(told).encode()).hexdigest()


def observed(project: Project) -> list[dict[str, Any]]:
    """The lines of the last cell's journal for calls that went out."""
    lines = (project.cell / "calls.jsonl").read_text().splitlines()
    return [entry for entry in map(json.loads, lines) if entry["kind"] == "observed"]


@pytest.fixture
def recorded(project: Project, probe: Probe) -> Iterator[Project]:
    """A project with recordings of `_TESTS`, which are the same afterwards, whatever a test did."""
    project.test(_TESTS)
    assert project.pytest("record").code == 0
    assert len(project.files()) == 4
    probe.asked.clear()
    before = digest(project.root / "recordings")
    yield project
    assert digest(project.root / "recordings") == before


@pytest.mark.parametrize("stack", ["library", "server"])
def test_pytest_alone_asks_the_provider_again_and_writes_below_its_run(
    recorded: Project, probe: Probe, stack: str
) -> None:
    ended = recorded.pytest("verify", stack=stack)
    assert ended.code == 0, ended.out
    assert ended.has("provider calls: 4 observed, 0 missed (verify)")
    assert sorted(probe.said) == ["one", "one", "two", "wide"]
    names = {path.name for path in recorded.files()}
    assert {Path(call["file"]).name for call in observed(recorded)} == names
    assert all(Path(call["file"]).is_relative_to(recorded.cell / "observed") for call in observed(recorded))
    for call in observed(recorded):
        assert json.loads(Path(call["file"]).read_text())["scope"] == call["scope"]


@pytest.mark.parametrize("stack", ["library", "server"])
def test_a_run_says_what_it_observed_and_that_recordings_are_as_they_were(recorded: Project, stack: str) -> None:
    ended = recorded.run("verify", stack=stack, CI="true")
    assert ended.code == 0, ended.out
    assert ended.has("provider calls: 4 observed, 0 missed\n", "recordings: recordings/probe is left as it was")


def test_workers_share_what_a_wider_fixture_has_asked(recorded: Project, probe: Probe) -> None:
    ended = recorded.pytest("verify", "-n", "2", "--dist", "load", "tests/integration")
    assert ended.code == 0, ended.out
    assert probe.said.count("wide") == 1
    assert sorted(probe.said) == ["one", "one", "two", "wide"]


def test_a_failing_test_keeps_what_was_observed_and_changes_no_recording(recorded: Project, probe: Probe) -> None:
    recorded.test(_TESTS.replace('ask("one")\n\n', 'ask("three")\n    assert 0\n\n'))
    ended = recorded.pytest("verify")
    assert ended.code == 1
    assert ended.counts == "1 failed, 1 passed"
    assert sorted(probe.said) == ["one", "three", "two", "wide"]
    assert len(observed(recorded)) == 4
    assert all(Path(call["file"]).is_file() for call in observed(recorded))
    assert "not kept" not in ended.out


def test_errors_of_the_provider_are_observed(recorded: Project, probe: Probe) -> None:
    probe.status = 401
    recorded.pytest("verify")
    assert {call["status"] for call in observed(recorded)} == {401}


@pytest.mark.parametrize("stack", ["library", "server"])
def test_ctrl_c_in_the_middle_of_a_call_changes_no_recording(recorded: Project, stack: str) -> None:
    recorded.test(_TESTS + '\ndef test_c(ask):\n    ask("hold")\n')
    ended = recorded.interrupted("verify", stack=stack)
    assert ended.code == 2, ended.out
    assert len(observed(recorded)) >= 4


def test_a_run_has_nothing_to_be_promoted(recorded: Project) -> None:
    assert recorded.pytest("verify").code == 0
    promoted = subprocess.run(
        [sys.executable, "-m", "stackproof", "recordings", "promote", recorded.cell.parents[1].name],
        cwd=recorded.root,
        env=recorded.environment("replay", "library"),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert promoted.returncode == 2
    assert "recorded nothing" in promoted.stderr


def test_without_any_recording_it_observes_all_the_same_and_makes_no_folder(project: Project) -> None:
    project.test(_TESTS)
    ended = project.pytest("verify")
    assert ended.code == 0, ended.out
    assert ended.has("4 observed")
    assert not (project.root / "recordings").exists()


def test_calls_at_the_start_and_the_end_of_a_stack_are_observed(project: Project) -> None:
    project.test('def test_a(ask):\n    ask("one")\n')
    variables = {"TINY_CALLS_AT_START": "1", "TINY_CALLS_AT_END": "1"}
    assert project.run("record", stack="server", **variables).code == 0
    before = digest(project.root / "recordings")
    ended = project.run("verify", stack="server", **variables)
    assert ended.code == 0, ended.out
    assert len(observed(project)) == 4
    assert digest(project.root / "recordings") == before


def test_a_stack_that_runs_already_is_refused_in_a_sentence(project: Project) -> None:
    project.test(_TESTS)
    ended = subprocess.run(
        [
            *(sys.executable, "-m", "stackproof", "run", "--setup", "probe"),
            *("--inference-mode", "verify", "--stack-config", "http://127.0.0.1:9"),
        ],
        cwd=project.root,
        env=project.environment("verify", "library"),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ended.returncode == 2
    assert "can be tested live only" in ended.stderr
