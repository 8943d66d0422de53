"""A stack in a container whose provider is asked again: what it says is observed, and no recording changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.run.docker.asking import TESTS, outcomes
from tests.e2e.run.docker.test_docker_far_recordings import FAILS, far, provider, toy

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project

__all__ = ["far", "provider", "toy"]


def digest(folder: Path) -> str:
    """Names, contents, times and permissions of all that is below a folder."""
    told = []
    for path in sorted(folder.rglob("*")):
        about = path.stat()
        content = path.read_bytes() if path.is_file() else b""
        told.append(f"{path.relative_to(folder)} {about.st_mtime_ns} {about.st_mode} {sha256(content).hexdigest()}")
    return sha256("\n".join(told).encode()).hexdigest()


def observed(project: Project) -> list[dict[str, Any]]:
    """The lines of the journal for calls that went out."""
    lines = (project.cell_dir() / "calls.jsonl").read_text().splitlines()
    return [call for call in map(json.loads, lines) if call["kind"] == "observed"]


@pytest.mark.usefixtures("provider")
def test_here_and_far_away_answers_are_observed_and_recordings_stay(
    project: Project, toy: str, far: Callable[[bool], None]
) -> None:
    project.tests(TESTS)
    far(False)
    recorded = project.run("--stack-config", toy, "--inference-mode", "record")
    assert recorded.code == 0, recorded.output
    before = digest(project.root / "recordings")
    names = {path.name for path in (project.root / "recordings").rglob("*.json")}
    project.tests(TESTS + FAILS)
    for away in (False, True):
        far(away)
        done = project.run("--stack-config", toy, "--inference-mode", "verify")
        assert done.code == 1, done.output
        assert {name for name, outcome in outcomes(project).items() if outcome != "passed"} == {"test_fails"}
        assert "provider calls: 8 observed, 0 missed" in done.output
        calls = observed(project)
        assert len(calls) == 8
        for call in calls:
            path = project.cell_dir() / "observed" / Path(call["file"]).relative_to(Path(call["file"]).parents[2])
            assert json.loads(path.read_text())["scope"] == call["scope"]
        assert names < {Path(call["file"]).name for call in calls}  # and the call of the test that is new
        assert digest(project.root / "recordings") == before


@pytest.mark.usefixtures("provider")
def test_a_budget_holds_in_the_container_and_is_refused_where_it_could_not(
    project: Project, toy: str, far: Callable[[bool], None]
) -> None:
    project.tests(TESTS)
    far(False)
    done = project.run("--stack-config", toy, "--inference-mode", "verify", "--max-requests", "3")
    assert done.code == 7, done.output
    assert len(observed(project)) == 3
    assert "the budget of this run is used up: 3 of 3 requests" in done.output
    assert json.loads((project.cell_dir() / "budget.json").read_text())["requests"] == [3, 3]
    far(True)
    done = project.run("--stack-config", toy, "--inference-mode", "verify", "--max-requests", "3")
    assert done.code == 4, done.output
    assert "shares no folders with this machine, and a budget" in done.output
    assert "Traceback" not in done.output
