"""Fixtures wider than a test have recordings of their own, whoever happens to set them up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.recorder.conftest import Probe, Project

_WIDE = """
@pytest.fixture(scope="session")
def session_wide(ask):
    yield ask("session up").json()["text"]
    ask("session down")

@pytest.fixture(scope="module", params=["p", "q"])
def module_wide(ask, request):
    text = ask(f"module up {request.param}").json()["text"]
    yield text
    ask(f"module down {request.param}")

@pytest.fixture(scope="class")
def class_wide(ask):
    yield ask("class up").json()["text"]
    ask("class down")

@pytest.fixture
def narrow(ask):
    yield ask("narrow up").json()["text"]
    ask("narrow down")

class TestOne:
    def test_a(self, session_wide, module_wide, class_wide, narrow, ask):
        assert ask("a").status_code == 200

    def test_b(self, class_wide, ask):
        assert ask("b").status_code == 200

class TestTwo:
    def test_c(self, session_wide, class_wide):
        assert session_wide.endswith("session up")
"""
_SCOPES = {
    "fixture:tests/integration/test_it.py::session_wide": {"session up", "session down"},
    "fixture:tests/integration/test_it.py::module_wide[p]": {"module up p", "module down p"},
    "fixture:tests/integration/test_it.py::module_wide[q]": {"module up q", "module down q"},
    "test_it.py::TestOne::test_a[p]": {"a", "narrow up", "narrow down"},
    "test_it.py::TestOne::test_a[q]": {"a", "narrow up", "narrow down"},
    "test_it.py::TestOne::test_b": {"b"},
    "fixture:tests/integration/test_it.py::class_wide": {"class up", "class down"},
}


def _scopes(project: Project) -> dict[str, set[str]]:
    import json

    found: dict[str, set[str]] = {}
    for path in project.files():
        data = json.loads(path.read_text())
        scope = data["scope"].removeprefix("tests/integration/")
        found.setdefault(scope, set()).add(data["request"]["body"]["json"]["say"])
    return found


@pytest.mark.parametrize("stack", ["library", "server"])
def test_set_up_and_teardown_of_wide_fixtures_replay_whichever_test_is_picked(
    project: Project, probe: Probe, stack: str
) -> None:
    project.test(_WIDE)
    recorded = project.pytest("record", stack=stack)
    assert recorded.code == 0, recorded.out
    assert _scopes(project) == _SCOPES
    asked = len(probe.asked)
    picks = [("-k", "test_c"), ("-k", "test_a and q"), ("-k", "test_b")] if stack == "library" else []
    for arguments in ((), ("-n", "2"), *picks):
        ended = project.pytest("replay", "tests/integration", *arguments, stack=stack)
        assert ended.code == 0, ended.out
        assert ended.has("0 recorded, 0 missed, 0 unused")
    assert len(probe.asked) == asked


def test_one_picked_test_recorded_anew_keeps_the_fixtures_other_answers(project: Project) -> None:
    """A fixture that is set up for another test asks the same again; what it would have asked elsewhere stays."""
    project.test(_WIDE)
    assert project.pytest("record").code == 0
    ended = project.pytest("record", "tests/integration", "-k", "test_a and q")
    assert ended.code == 0, ended.out
    assert _scopes(project) == _SCOPES


def test_a_failing_dependent_keeps_a_wide_fixtures_answers_back(project: Project) -> None:
    project.test("""
@pytest.fixture(scope="module")
def wide(ask):
    yield ask("up")
    ask("down")

@pytest.fixture(scope="module")
def other(ask):
    return ask("other")

def test_good(wide, other, ask):
    ask("good")

def test_bad(wide, ask):
    ask("bad")
    assert 0
""")
    ended = project.pytest("record")
    assert ended.code == 1
    assert _scopes(project) == {
        "fixture:tests/integration/test_it.py::other": {"other"},
        "test_it.py::test_good": {"good"},
    }
    assert ended.has("not kept: 3 recordings of tests that failed")


def test_a_failing_dependent_holds_back_what_it_used_and_nothing_else(project: Project) -> None:
    """One parameter of a fixture; one that is asked for by name, which another test had set up before."""
    project.test("""
@pytest.fixture(scope="module", params=["p", {"not": "a name"}])
def wide(ask, request):
    return ask(f"up {request.param_index}")

@pytest.fixture(scope="module")
def by_name(ask):
    return ask("by name")

@pytest.mark.parametrize("name", ["by_name", "ask"])
def test_by_name(request, name):
    request.getfixturevalue(name)
    assert name == "by_name"

def test_by_name_later(request):
    request.getfixturevalue("by_name")
    assert 0

def test_wide(wide, request):
    assert request.node.callspec.params["wide"] == "p"
""")
    assert project.pytest("record").code == 1
    assert _scopes(project) == {"fixture:tests/integration/test_it.py::wide[p]": {"up 0"}}


def test_a_picked_test_without_the_stack_costs_the_stack_nothing(project: Project) -> None:
    project.test('def test_a(ask):\n    ask("one")\n\ndef test_b():\n    pass\n')
    assert project.pytest("record", TINY_CALLS_AT_START="1").code == 0
    before = _scopes(project)
    assert "stack" in before
    assert project.pytest("record", "-k", "test_b", TINY_CALLS_AT_START="1").code == 0
    assert _scopes(project) == before


def test_a_dependent_that_passes_at_its_second_attempt_keeps_nothing_back(project: Project) -> None:
    project.test("""
import pathlib

@pytest.fixture(scope="module")
def wide(ask):
    return ask("up")

def test_flaky(wide, ask):
    ask("flaky")
    mark = pathlib.Path("attempted")
    if not mark.exists():
        mark.write_text("")
        pytest.fail("once")
""")
    ended = project.pytest("record", "tests/integration", "--reruns", "1")
    assert ended.code == 0, ended.out
    assert _scopes(project) == {
        "fixture:tests/integration/test_it.py::wide": {"up"},
        "test_it.py::test_flaky": {"flaky"},
    }


def test_a_miss_in_a_wide_fixture_fails_the_test_with_which_it_happens(project: Project) -> None:
    project.test("""
@pytest.fixture(scope="module")
def wide(ask):
    yield ask("up", to="swallow")
    ask("down", to="swallow")

def test_first(wide):
    pass

def test_last(wide):
    pass
""")
    ended = project.pytest("replay")
    assert ended.code == 1
    assert ended.counts == "2 passed, 2 errors", "one for the set-up, one for the teardown"


def test_calls_at_the_start_of_a_stack_are_the_stacks_own_in_every_mode(project: Project, probe: Probe) -> None:
    project.test('def test_a(ask):\n    ask("one")\n')
    assert project.pytest("record", stack="server", TINY_CALLS_AT_START="1").code == 0
    assert _scopes(project) == {"stack": {"at the start"}, "test_it.py::test_a": {"one"}}
    assert [path.parent.name for path in project.files() if "common" in str(path)] == ["common"]
    asked = len(probe.asked)
    ended = project.pytest("replay", stack="library", TINY_CALLS_AT_START="1")
    assert ended.code == 0, ended.out
    assert ended.has("2 replayed", "0 missed")
    assert len(probe.asked) == asked


@pytest.mark.parametrize("stack", ["library", "server"])
def test_two_workers_record_what_one_replays_and_the_other_way_round(
    project: Project, probe: Probe, stack: str
) -> None:
    project.test("""
@pytest.fixture(scope="session")
def wide(ask):
    return ask("wide").json()["text"]

@pytest.mark.parametrize("n", range(6))
def test_each(wide, ask, n):
    assert wide.endswith("to wide")
    assert ask(f"n {n}").json()["text"].endswith(f"to n {n}")
    assert ask("same").json()["text"] != ask("same").json()["text"]
""")
    recorded = project.pytest("record", "tests/integration", "-n", "2", stack=stack)
    assert recorded.code == 0, recorded.out
    assert recorded.has("19 files written")
    assert probe.said.count("wide") == 1, "the first answer in a run wins, the other worker gets it"
    asked = len(probe.asked)
    for arguments in ((), ("-n", "2")):
        ended = project.pytest("replay", "tests/integration", *arguments, stack=stack)
        assert ended.code == 0, ended.out
        assert ended.has("0 recorded, 0 missed, 0 unused")
    assert len(probe.asked) == asked


def test_workers_report_a_miss_and_what_was_not_kept(project: Project) -> None:
    project.test("""
@pytest.mark.parametrize("n", range(4))
def test_each(ask, n):
    ask(f"n {n}", to="swallow")
    assert n != 3
""")
    missed = project.pytest("replay", "tests/integration", "-n", "2")
    assert missed.code == 1
    assert missed.has("1 failed, 3 passed, 3 errors", "4 missed")
    recorded = project.pytest("record", "tests/integration", "-n", "2")
    assert recorded.has("3 files written", "not kept: 1 recording of tests that failed")


def test_a_test_that_has_its_own_event_loop_thread_keeps_its_scope(project: Project, probe: Probe) -> None:
    project.test("""
import asyncio, threading, os
import httpx2

loop = asyncio.new_event_loop()
threading.Thread(target=loop.run_forever, daemon=True).start()

async def call(say):
    async with httpx2.AsyncClient(trust_env=False, timeout=60) as client:
        return (await client.post(os.environ["PROBE_URL"] + "/answers", json={"say": say})).json()["text"]

@pytest.mark.parametrize("n", [1, 2])
def test_it(ask, n):
    assert asyncio.run_coroutine_threadsafe(call("loop"), loop).result(60).endswith("loop")
""")
    assert project.pytest("record").code == 0
    assert _scopes(project) == {"test_it.py::test_it[1]": {"loop"}, "test_it.py::test_it[2]": {"loop"}}
    assert project.pytest("replay").code == 0
