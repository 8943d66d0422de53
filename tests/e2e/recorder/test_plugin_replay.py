"""pytest alone in a project: recorded once, replayed ever after, and never green for want of a recording."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.recorder.conftest import Probe, Project

_STACKS = pytest.mark.parametrize("stack", ["library", "server"])


@_STACKS
def test_what_was_recorded_replays_without_the_provider(project: Project, probe: Probe, stack: str) -> None:
    project.test("""
def test_ask(ask):
    assert ask("hello").json()["text"] == "answer 1 to hello"

def test_twice(ask):
    assert [ask("again").json()["text"][:8] for _ in range(2)] == ["answer 2", "answer 3"]

def test_stream(http_client):
    with http_client.stream("POST", "/v1/stream", json={"say": "s"}) as answer:
        assert [line for line in answer.iter_lines() if line][-1] == "data: [DONE]"

def test_later(ask):
    assert ask("background", to="later").json() == {"text": "later"}
""")
    recorded = project.pytest("record", stack=stack)
    assert recorded.code == 0, recorded.out
    assert recorded.has("5 recorded", "5 files written")
    assert len(probe.asked) == 5
    before = project.contents()
    replayed = project.pytest("replay", stack=stack)
    assert replayed.code == 0, replayed.out
    assert replayed.has("5 replayed, 0 recorded, 0 missed, 0 unused")
    assert len(probe.asked) == 5
    other = project.pytest("replay", stack="server" if stack == "library" else "library")
    assert other.has("5 replayed, 0 recorded, 0 missed, 0 unused")
    assert project.contents() == before


@_STACKS
def test_a_miss_that_the_stack_swallows_still_fails_its_test_and_only_that(
    project: Project, probe: Probe, stack: str
) -> None:
    project.test("""
def test_swallowed(ask):
    assert ask("anything", to="swallow").json()["text"] == "all is well"

def test_other(ask):
    pass
""")
    ended = project.pytest("replay", stack=stack)
    assert ended.code == 1
    assert ended.counts == "2 passed, 1 error"
    assert ended.has("no recording for POST /answers", "nothing is recorded for", "record-if-missing", "1 missed")
    assert probe.asked == []


def test_a_test_that_fails_over_a_miss_by_itself_is_told_of_it_too(project: Project) -> None:
    project.test('def test_it(ask):\n    assert ask("x").json()["text"] == "answer"\n')
    ended = project.pytest("replay", stack="server")
    assert ended.code == 1
    assert ended.counts == "1 failed"
    assert ended.has("tests/integration/test_it.py::test_it\n  no recording for POST /answers", "record-if-missing")


@pytest.mark.parametrize(
    "test",
    [
        'def test_it(ask):\n    ask("x")\n    pytest.skip("no provider")\n',
        '@pytest.mark.xfail(reason="to be done", strict=True)\ndef test_it(ask):\n    ask("x").raise_for_status()\n',
    ],
    ids=["skip", "xfail"],
)
def test_a_miss_is_no_reason_for_a_skip_nor_an_expected_failure(project: Project, test: str) -> None:
    project.test(test)
    ended = project.pytest("replay")
    assert ended.code == 1
    assert ended.has("1 error", "no recording for POST /answers")


def test_a_miss_of_no_test_makes_the_session_fail(project: Project) -> None:
    project.test("""
import threading
over, threads = threading.Event(), []

def test_it(ask, http_client):
    def afterwards():
        over.wait(120)
        ask("late", to="swallow")
    threads.append(threading.Thread(target=afterwards))
    threads[0].start()

def test_other():
    over.set()
    threads[0].join(120)
""")
    ended = project.pytest("replay")
    assert ended.code == 6
    assert ended.counts == "2 passed"
    assert ended.has("late: 1 provider call", "no recording for POST /answers")


def test_each_attempt_of_a_rerun_starts_anew(project: Project) -> None:
    project.test("""
import pathlib
import httpx2

def test_flaky(ask, tmp_path_factory):
    text = ask("hello").json()["text"]
    mark = pathlib.Path("attempted")
    if not mark.exists():
        mark.write_text("")
        pytest.fail(text)
    assert ask("second").status_code == 200
""")
    recorded = project.pytest("record", "tests/integration", "--reruns", "1", "-rR")
    assert recorded.code == 0, recorded.out
    assert recorded.has("1 rerun", "not kept: 1 recording of tests that failed")
    assert project.recordings() == {
        "test_it.py::test_flaky hello": "answer 2 to hello",
        "test_it.py::test_flaky second": "answer 3 to second",
    }
    (project.root / "attempted").unlink()
    replayed = project.pytest("replay", "tests/integration", "--reruns", "1")
    assert replayed.code == 0, replayed.out
    assert replayed.has("1 rerun", "3 replayed", "0 missed")


def test_unused_recordings_are_reported_and_fail_a_strict_run(project: Project, probe: Probe) -> None:
    project.test('def test_it(ask):\n    ask("one")\n    ask("two")\n')
    assert project.pytest("record").code == 0
    project.test('def test_it(ask):\n    ask("one")\n')
    lenient = project.pytest("replay")
    assert lenient.code == 0
    assert lenient.has("1 unused", "unused: recordings/probe/")
    strict = project.pytest("replay", STACKPROOF_STRICT="1")
    assert strict.code == 6
    assert strict.counts == "1 passed"


def test_what_another_stack_has_recorded_is_not_unused(project: Project, probe: Probe) -> None:
    project.test('def test_it(ask):\n    ask("one")\n    ask("two")\n')
    assert project.pytest("record").code == 0
    (two,) = [path for path in project.root.glob("recordings/probe/**/*.json") if '"two"' in path.read_text()]
    own = json.loads(two.read_text())["provenance"]["stack"]
    project.test('def test_it(ask):\n    ask("one")\n')
    for stack, code in (("another", 0), (own, 6)):
        content = json.loads(two.read_text())
        content["provenance"]["stack"] = stack
        two.write_text(json.dumps(content))
        assert project.pytest("replay", STACKPROOF_STRICT="1").code == code, stack


def test_a_damaged_file_is_named(project: Project) -> None:
    damages = (
        "{ half",
        "",
        "[]",
        '{"format": 99, "request": {}, "response": {"status": 200}}',
        '{"format": 1, "request": {}, "response": {"status": 200}}',
        '{"format": 1, "request": {}, "response": {"status": 200, "headers": {}, "framing": "morse", "events": [7]}}',
    )
    project.test(f"""
@pytest.mark.parametrize("n", range({len(damages)}))
def test_it(ask, n):
    assert ask(f"n {{n}}", to="swallow").status_code == 200
""")
    assert project.pytest("record").code == 0
    for file, damage in zip(project.files(), damages, strict=True):
        file.write_text(damage)
    ended = project.pytest("replay")
    assert ended.code == 1
    assert ended.counts == f"{len(damages)} passed, {len(damages)} errors"
    assert ended.has(*(file.name for file in project.files()))
    assert "Traceback" not in ended.out


def test_folder_file_and_node_id_work_alone(project: Project) -> None:
    project.test(
        """
class TestIt:
    @pytest.mark.parametrize("what", ["a b", "ü"])
    def test_one(self, ask, what):
        assert ask(what).json()["text"].endswith(what)
""",
        name="deep/test_deep.py",
    )
    assert project.pytest("record", "tests/integration").code == 0
    for arguments in (
        ("tests",),
        ("tests/integration/deep/test_deep.py",),
        ("tests/integration/deep/test_deep.py::TestIt::test_one[a b]",),
        ("-k", "test_one"),
    ):
        ended = project.pytest("replay", *arguments)
        assert ended.code == 0, ended.out
        assert ended.has("0 missed, 0 unused")


def test_a_mixed_session_leaves_other_tests_alone(project: Project, probe: Probe) -> None:
    project.test('def test_it(ask):\n    assert ask("one").status_code == 200\n')
    assert project.pytest("record").code == 0
    unit = project.root / "tests/unit/test_unit.py"
    unit.parent.mkdir()
    unit.write_text(f"""
import os
import httpx2

def test_unit():
    assert "STACKPROOF_CHILD" not in os.environ
    assert "STACKPROOF_RECORDER" not in os.environ
    assert os.environ["PROBE_API_KEY"] == "a-key-of-the-probe"
    assert httpx2.post("{probe.url}/answers", json={{"say": "unit"}}, trust_env=False, timeout=60).status_code == 200
    os.environ["LEFT_BEHIND"] = "1"
""")
    for arguments in (("tests/unit", "tests/integration"), ("tests/integration", "tests/unit"), ("-n", "2", "tests")):
        probe.asked.clear()
        ended = project.pytest("replay", *arguments)
        assert ended.code == 0, ended.out
        assert ended.has("1 replayed, 0 recorded, 0 missed")
        assert probe.said == ["unit"]


def test_a_pytest_elsewhere_pays_nothing(tmp_path: Path, project: Project) -> None:
    for path in (tmp_path / "tests").rglob("*"):
        if path.is_file():
            path.unlink()
    (tmp_path / "test_plain.py").write_text("""
import sys

def test_plain():
    ours = sorted(name for name in sys.modules if name.partition(".")[0] == "stackproof")
    assert ours == ["stackproof", "stackproof.pytest_plugin"]
    assert not {"yaml", "click", "rich", "httpx2", "httpx", "openai", "starlette", "docker"} & set(sys.modules)
""")
    ended = project.pytest("replay", "test_plain.py")
    assert ended.code == 0, ended.out


def test_unit_tests_of_a_project_start_no_stack(project: Project) -> None:
    project.test("def test_it(ask):\n    pass\n")
    unit = project.root / "tests/unit/test_unit.py"
    unit.parent.mkdir()
    unit.write_text("def test_unit():\n    pass\n")
    (project.root / "stacks/tiny/tiny_app.py").write_text("raise RuntimeError('started')\n")
    ended = project.pytest("replay", "tests/unit", stack="server")
    assert ended.code == 0
    assert not (project.root / ".stackproof").exists()


def test_debug_shows_identity_and_where_was_looked(project: Project) -> None:
    project.test('def test_it(ask):\n    ask("one")\n')
    project.pytest("record")
    (file,) = project.files()
    ended = project.pytest("replay", "tests/integration", "-s", STACKPROOF_DEBUG="yes")
    assert ended.has("] replayed: POST /answers of probe, number 1", f"file        {file.name}", ": found")


def test_the_journal_of_a_session_tells_every_test_and_the_calls(project: Project) -> None:
    project.test('def test_it(ask):\n    ask("one")\n\ndef test_bad():\n    assert 0\n')
    project.pytest("record")
    (path,) = (project.root / ".stackproof/runs").glob("*/cells/*/tests.jsonl")
    events = [json.loads(line) for line in path.read_text().splitlines()]
    assert [event["event"] for event in events] == ["collected", "test", "test", "calls", "finished"]
    assert [event["outcome"] for event in events[1:3]] == ["passed", "failed"]
    assert (events[3]["recorded"], events[4]["exitstatus"]) == (1, 1)
