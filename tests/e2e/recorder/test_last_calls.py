"""What a stack calls while it is torn down is its own, like what it calls when it starts: kept, replayed, missed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.recorder.conftest import Ended, Probe, Project

_TEST = 'def test_a(ask):\n    assert ask("one").status_code == 200\n'
_BOTH = {"TINY_CALLS_AT_START": "1", "TINY_CALLS_AT_END": "1"}
_ALL = {"stack at the start", "stack at the start 2", "stack at the end", "test_it.py::test_a one"}


def _tests(project: Project, how: str, mode: str, stack: str, **variables: str) -> Ended:
    if how == "run":
        return project.run(mode, stack=stack, **variables)
    return project.pytest(mode, stack=stack, **variables)


@pytest.mark.parametrize("stack", ["server", "library"])
@pytest.mark.parametrize("how", ["pytest", "run"])
def test_calls_at_the_end_of_a_stack_are_kept_and_replayed(
    project: Project, probe: Probe, how: str, stack: str
) -> None:
    project.test(_TEST)
    recorded = _tests(project, how, "record", stack, **_BOTH)
    assert recorded.code == 0, recorded.out
    assert set(project.recordings()) == _ALL
    asked, before = len(probe.asked), project.contents()
    replayed = _tests(project, how, "replay", stack, **_BOTH)
    assert replayed.code == 0, replayed.out
    assert len(probe.asked) == asked
    assert project.contents() == before
    # A stack that no longer makes them when it is recorded again no longer has them.
    again = _tests(project, how, "record", stack, TINY_CALLS_AT_START="1")
    assert again.code == 0, again.out
    assert set(project.recordings()) == {"stack at the start", "test_it.py::test_a one"}


def test_a_run_counts_them(project: Project) -> None:
    project.test(_TEST)
    recorded = project.run("record", stack="server", **_BOTH)
    assert recorded.has("recordings: 4 calls recorded, 4 files written, 0 removed")


@pytest.mark.parametrize("how", ["pytest", "run"])
def test_where_no_test_passed_nothing_of_the_stack_is_kept(project: Project, how: str) -> None:
    project.test('def test_a(ask):\n    ask("one")\n    assert False\n')
    assert _tests(project, how, "record", "server", **_BOTH).code == 1
    assert project.files() == []


def test_a_call_at_the_end_without_a_recording_is_the_runs_fault_and_named(project: Project) -> None:
    project.test(_TEST)
    assert project.run("record", stack="server").code == 0
    replayed = project.run("replay", stack="server", TINY_CALLS_AT_END="1")
    assert replayed.code == 6, replayed.out
    assert replayed.has("the stack called a provider while it was torn down", "POST /answers")
