"""`--inject`: the same faults for every test of a run, by the real command."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.recorder.conftest import Probe, Project

TESTS = """
def test_plain(ask):
    ask("one"); ask("two")

def test_stream(http_client):
    with http_client.stream("POST", "/v1/stream", json={"say": "s"}) as answer:
        list(answer.iter_bytes())

def test_swallow(ask):
    assert ask("three", to="swallow").json()["text"] == "all is well"
"""


@pytest.fixture
def recorded(project: Project) -> Project:
    """Three tests, recorded through the server."""
    project.test(TESTS)
    done = project.run("record", stack="server")
    assert done.code == 0, done.out
    return project


def test_a_run_shows_its_faults_and_counts_what_happened(recorded: Project, probe: Probe) -> None:
    asked = len(probe.asked)
    done = recorded.run("replay", "--inject", "status:503,times=1", "--inject", "cut:2", "--strict", stack="server")
    assert done.has("inject status:503,times=1; cut:2   --inject", "--inject status:503,times=1 --inject cut:2")
    # Each test's first call was answered with 503, and no later one is long enough for the other fault.
    assert done.has("'cut:2' was never met: no provider call of 3 tests fits", "3 faults injected")
    assert done.code == 1
    done = recorded.run("replay", "--inject", "status:503", "--strict", stack="library")
    assert done.has("0 missed, 0 unused, 4 faults injected")
    assert done.code == 0, done.out
    assert len(probe.asked) == asked


def test_a_cut_stream_fails_the_tests_that_do_not_expect_it_and_no_other(recorded: Project) -> None:
    done = recorded.run("replay", "--inject", "cut:2,path=/answers", stack="server")
    assert done.code == 1
    assert done.has("test_stream", "RemoteProtocolError", "2 passed, 1 failed", "1 fault injected")
    assert done.has("--inject cut:2,path=/answers")  # in the command that runs it again


@pytest.mark.parametrize(
    ("mode", "inject", "says"),
    [
        ("replay", "cutt:3", "--inject: unknown fault 'cutt' in 'cutt:3', did you mean 'cut'?"),
        ("record", "cut:3", "--inject: faults are injected in replay only, and inference mode 'record'"),
        ("live", "cut:3", "inference mode 'live' (--inference-mode) is another"),
        ("record-if-missing", "cut:3", "faults are injected in replay only"),
    ],
)
def test_what_cannot_be_is_said_before_anything_starts(project: Project, mode: str, inject: str, says: str) -> None:
    project.test(TESTS)
    done = project.run(mode, "--inject", inject, stack="server")
    assert done.code == 2
    assert done.has(says)
    assert not (project.root / ".stackproof/runs").exists()


def test_plain_pytest_takes_it_from_its_variable(recorded: Project) -> None:
    done = recorded.pytest(
        "replay", STACKPROOF_INJECT="status:500,times=1\ncontent-type:application/json; charset=utf-8"
    )
    assert done.code == 0, done.out
    assert done.has("3 passed", "1 replayed, 0 recorded, 0 missed, 0 unused, 4 faults injected")
    wrong = recorded.pytest("replay", STACKPROOF_INJECT="statuss:500")
    assert wrong.code == 2
    assert wrong.has("STACKPROOF_INJECT: unknown fault 'statuss' in 'statuss:500', did you mean 'status'?")


def test_the_plan_in_json_says_what_was_asked_for(recorded: Project) -> None:
    done = recorded.run("replay", "--inject", "cut:2", "--dry-run", "--format", "json", stack="server")
    assert done.code == 0, done.out
    facts = json.loads(done.out)
    assert facts["options"]["inject"] == ["cut:2"]
    assert "--inject cut:2" in facts["cells"][0]["command"]


def test_workers_of_xdist_meet_it_in_every_test(recorded: Project) -> None:
    words = ("-n", "2", "tests/integration")
    done = recorded.pytest("replay", *words, stack="server", STACKPROOF_INJECT="status:503,times=1")
    assert done.has("3 passed", "3 faults injected")
    assert done.code == 0, done.out
    done = recorded.pytest("replay", *words, stack="server", STACKPROOF_INJECT="cut:99")
    assert done.has("3 passed", "'cut:99' was never met: no provider call of 3 tests fits")
    assert done.code == 1
