"""A budget for real calls over whole runs: request N+1 never leaves, and what is left ends in order."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.recorder.conftest import Probe, Project

_TESTS = """
@pytest.mark.parametrize("number", range(6))
def test_it(ask, number):
    answer = ask(f"say {number}")
    assert answer.status_code == 200
"""


def budget(project: Project) -> dict[str, Any]:
    """What the last cell has spent."""
    found: dict[str, Any] = json.loads((project.cell / "budget.json").read_text())
    return found


def outcomes(project: Project) -> list[str]:
    """Of the last cell's tests, in the order of their ends."""
    lines = (project.cell / "tests.jsonl").read_text().splitlines()
    return [entry["outcome"] for entry in map(json.loads, lines) if entry["event"] == "test"]


@pytest.mark.parametrize("stack", ["library", "server"])
@pytest.mark.parametrize("mode", ["verify", "record"])
def test_the_refused_test_and_those_after_it_are_skipped(project: Project, probe: Probe, stack: str, mode: str) -> None:
    project.test(_TESTS)
    ended = project.run(mode, "--max-requests", "3", stack=stack)
    assert ended.code == 7, ended.out
    assert len(probe.asked) == 3
    assert outcomes(project) == ["passed"] * 3 + ["skipped"] * 3
    sentence = "the budget of this run is used up: 3 of 3 requests"
    assert ended.has(
        f"NOT PROVEN  base × probe × {stack}:tiny",
        f"{sentence}; 3 passed, 3 skipped\n",
        "give it more, as --max-requests 6, or take fewer tests",
        "budget: 3 of 3 requests, tokens unknown (3 answers did not say), 1 call refused",
        "--max-requests 3",
    )
    assert budget(project)["ended_by"] == "requests"
    assert budget(project)["requests"] == [3, 3]
    assert len(project.files()) == (3 if mode == "record" else 0)


def test_pytest_alone_takes_it_from_a_variable_and_says_why(project: Project, probe: Probe) -> None:
    project.test(_TESTS)
    ended = project.pytest("verify", "-rs", "tests/integration", STACKPROOF_MAX_REQUESTS="2")
    assert ended.code == 7
    assert ended.counts == "2 passed, 4 skipped"
    assert ended.has("used up: 2 of 2 requests", "budget: 2 of 2 requests")
    assert len(probe.asked) == 2


@pytest.mark.parametrize("stack", ["library", "server"])
def test_several_workers_spend_from_one_account(project: Project, probe: Probe, stack: str) -> None:
    project.test(_TESTS.replace("range(6)", "range(24)"))
    ended = project.pytest("verify", "-n", "3", "tests/integration", stack=stack, STACKPROOF_MAX_REQUESTS="7")
    assert ended.code == 7, ended.out
    assert len(probe.asked) == 7
    assert ended.counts == "7 passed, 17 skipped"
    assert budget(project)["requests"] == [7, 7]


def test_tokens_end_it_too_and_retries_are_told(project: Project, probe: Probe) -> None:
    probe.usage = {"prompt_tokens": 6, "completion_tokens": 4}
    project.test(_TESTS)
    ended = project.run("verify", "--max-tokens", "25", stack="library")
    assert ended.code == 7
    assert len(probe.asked) == 3
    assert ended.has("the budget of this run is used up: 30 of 25 tokens", "budget: 3 requests, 30 of 25 tokens")
    calls = [json.loads(line) for line in (project.cell / "calls.jsonl").read_text().splitlines()]
    assert [call.get("tokens") for call in calls] == [{"input": 6, "output": 4}] * 3 + [None]


def test_time_that_is_up_begins_no_other_test(project: Project, probe: Probe) -> None:
    project.test(
        """
import time

def test_a(ask):
    time.sleep(2.1)

def test_b(ask):
    ask("b")
"""
    )
    ended = project.run("verify", "--max-seconds", "2", stack="library")
    assert ended.code == 7
    assert outcomes(project) == ["passed", "skipped"]
    assert probe.asked == []
    assert ended.has("the budget of this run is used up: 2 seconds are over")


def test_teardown_happens_and_a_swallowed_refusal_is_no_pass(project: Project, probe: Probe) -> None:
    project.test(
        """
import pathlib

@pytest.fixture(scope="module")
def wide():
    yield
    pathlib.Path("torn-down").touch()

def test_a(ask, wide):
    ask("a")

def test_b(ask, wide):
    assert ask("b", to="swallow").json() == {"text": "all is well"}

@pytest.mark.xfail(strict=True)
def test_c(ask, wide):
    assert 0
"""
    )
    ended = project.run("verify", "--max-requests", "1", stack="server")
    assert ended.code == 7, ended.out
    assert outcomes(project) == ["passed", "skipped", "skipped"]
    assert probe.said == ["a"]
    assert (project.root / "torn-down").exists()


def test_a_fixture_whose_call_is_refused_fails_no_test_and_keeps_no_half_set(project: Project, probe: Probe) -> None:
    source = """
@pytest.fixture(scope="module")
def wide(ask):
    assert ask("one").status_code == 200
    assert ask("two").status_code == 200

def test_a(wide):
    pass

def test_b(wide):
    pass
"""
    project.test(source)
    assert project.pytest("record").code == 0
    before = project.contents()
    ended = project.run("record", "--max-requests", "1", stack="library")
    assert ended.code == 7, ended.out
    assert outcomes(project) == ["skipped", "skipped"]
    assert project.contents() == before


def test_a_failure_before_the_end_stays_one(project: Project, probe: Probe) -> None:
    project.test("def test_bad(ask):\n    assert 0\n" + _TESTS)
    ended = project.run("verify", "--max-requests", "1", stack="library")
    assert ended.code == 1
    assert ended.has("the budget of this run is used up: 1 of 1 requests")
    assert outcomes(project) == ["failed", "passed"] + ["skipped"] * 5


def test_exactly_enough_is_enough(project: Project, probe: Probe) -> None:
    project.test(_TESTS)
    ended = project.run("verify", "--max-requests", "6", stack="library")
    assert ended.code == 0, ended.out
    assert budget(project)["ended_by"] is None
    assert ended.has("budget: 6 of 6 requests")


def test_a_stack_that_spends_it_all_at_its_start_is_told_so(project: Project, probe: Probe) -> None:
    project.test(_TESTS)
    ended = project.run("verify", "--max-requests", "1", stack="server", TINY_CALLS_AT_START="1")
    assert ended.code == 7, ended.out
    assert probe.said == ["at the start"]
    assert outcomes(project) == ["skipped"] * 6


def test_retries_are_counted(project: Project, probe: Probe) -> None:
    project.test(
        """
def test_it(ask):
    for _ in range(3):
        ask("again")
"""
    )
    probe.status = 503
    ended = project.run("verify", stack="library")
    assert ended.has("provider calls: 3 observed, 0 missed, 2 retries")
    lines = map(json.loads, (project.cell / "calls.jsonl").read_text().splitlines())
    assert [line.get("retry", False) for line in lines] == [False, True, True]


def test_tests_of_others_in_the_same_session_go_on(project: Project, probe: Probe) -> None:
    project.test(_TESTS)
    other = project.root / "tests/unit/test_zoo.py"
    other.parent.mkdir()
    other.write_text("def test_something_else(): pass\n")
    ended = project.pytest("verify", "tests", STACKPROOF_MAX_REQUESTS="2")
    assert ended.code == 7
    assert ended.counts == "3 passed, 4 skipped"
