"""Marked tests of a small project: the same faults where the stack is a library and where it is a server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.recorder.conftest import Probe, Project

STACKS = pytest.mark.parametrize("stack", ["library", "server"])
# What is recorded: a plain answer, a stream, a question that is asked twice, and one that is not asked again.
RECORDED = """
import httpx2, pytest

def stream(http_client):
    pieces = []
    with http_client.stream("POST", "/v1/stream", json={"say": "s"}) as answer:
        for piece in answer.iter_bytes():
            pieces.append(piece)
    return b"".join(pieces)

def test_plain(ask):
    ask("one"); ask("two")

def test_stream(http_client):
    stream(http_client)
"""
MARKED = """
import httpx2, pytest, time

def stream(http_client, pieces):
    with http_client.stream("POST", "/v1/stream", json={"say": "s"}) as answer:
        for piece in answer.iter_bytes():
            pieces.append(piece)

@pytest.mark.fault("status:429,times=1,retry-after=3")
def test_plain(ask):
    answer = ask("one")
    assert answer.status_code == 429
    assert "Too Many Requests" in answer.json()["error"]["message"]
    assert ask("one").json()["text"].endswith("one")

@pytest.mark.fault("cut:2")
def test_stream(http_client):
    pieces = []
    with pytest.raises(httpx2.RemoteProtocolError):
        stream(http_client, pieces)
    assert b"".join(pieces).count(b"data: ") == 2
"""


def lines(project: Project, kind: str) -> list[dict[str, Any]]:
    """The newest run's calls of a kind."""
    runs = sorted((project.root / ".stackproof/runs").glob("*/cells/*/calls.jsonl"), key=lambda p: p.stat().st_mtime)
    entries = [json.loads(line) for line in runs[-1].read_text().splitlines()] if runs else []
    return [entry for entry in entries if entry["kind"] == kind]


@STACKS
def test_marked_tests_meet_their_faults_and_recordings_stay_as_they_are(project: Project, stack: str) -> None:
    project.test(RECORDED)
    assert project.pytest("record", stack=stack).code == 0
    before = project.contents()
    project.test(MARKED)
    # Strict: that a cut stream is given in part only, and a question is not asked, is no unused recording.
    done = project.pytest("replay", stack=stack, STACKPROOF_STRICT="1")
    assert done.code == 0, done.out
    assert done.has("2 passed", "2 replayed, 0 recorded, 0 missed, 0 unused, 2 faults injected (replay)")
    assert project.contents() == before
    assert [(line["fault"], line["n"]) for line in lines(project, "injected")] == [
        ("status:429,times=1,retry-after=3", 1),
        ("cut:2", 1),
    ]
    # The retry got the recorded answer, under the number that it would have had.
    assert [line["n"] for line in lines(project, "replayed")] == [1, 1]


@STACKS
def test_a_fault_that_was_not_met_fails_its_test_and_says_so(project: Project, stack: str) -> None:
    project.test(RECORDED)
    assert project.pytest("record", stack=stack).code == 0
    project.test("""
import pytest

@pytest.mark.fault("cut:50")
def test_stream(http_client):
    with http_client.stream("POST", "/v1/stream", json={"say": "s"}) as answer:
        answer.read()

@pytest.mark.fault("refused", provider="another")
def test_plain(ask):
    ask("one")

@pytest.mark.fault("refused")
def test_skipped():
    pytest.skip("not today")

@pytest.mark.xfail(reason="the stack is not up to it")
@pytest.mark.fault("refused")
def test_without_a_call():
    assert False
""")
    done = project.pytest("replay", stack=stack)
    assert done.code == 1
    assert done.has(
        "2 passed, 1 skipped, 1 xfailed, 3 errors",
        "fault 'cut:50' of this test was never met: its one provider call was POST /answers",
        "fault 'refused,provider=another' of this test was never met: its one provider call was POST /answers",
        "fault 'refused' of this test was never met: the test made no provider call that the recorder saw",
    )


@STACKS
def test_a_mark_that_says_nothing_right_is_the_tests_error(project: Project, stack: str) -> None:
    project.test("""
import pytest

@pytest.mark.fault("cutt:3")
def test_a(ask):
    assert ask("one").status_code == 200

@pytest.mark.fault
def test_b():
    pass
""")
    done = project.pytest("replay", stack=stack)
    assert done.code == 1
    assert done.has(
        "2 errors",
        "tests/integration/test_it.py::test_a: unknown fault 'cutt' in 'cutt:3', did you mean 'cut'?",
        "a mark 'fault' says no fault",
    )
    assert "Traceback" not in done.out


@pytest.mark.parametrize("mode", ["record", "live", "record-if-missing"])
def test_marks_are_refused_where_nothing_is_replayed(project: Project, probe: Probe, mode: str) -> None:
    project.test("""
import pytest

@pytest.mark.fault("cut:3")
def test_a(ask):
    ask("one")
""")
    done = project.pytest(mode)
    assert done.code == 1
    assert done.has(f"test_a: faults are injected in replay only, and inference mode '{mode}' is another", "1 error")
    assert done.has('say whose answers this one gets: of="test_it"')
    assert probe.asked == []


def test_a_stall_lasts_as_long_as_the_callers_patience(project: Project) -> None:
    body = """
import httpx2, os, pytest, time

def stream(pieces):
    asked = {"say": "s", "stream": True}
    with httpx2.Client(trust_env=False, timeout=2.5) as client:
        with client.stream("POST", os.environ["PROBE_URL"] + "/answers", json=asked) as answer:
            for piece in answer.iter_bytes():
                pieces.append(piece)
"""
    patient = body.replace("timeout=2.5", "timeout=60")
    project.test(patient + "\ndef test_stream():\n    stream([])\n")
    assert project.pytest("record").code == 0
    project.test(
        body
        + """
@pytest.mark.fault("stall:1,300")
def test_stream():
    pieces, began = [], time.monotonic()
    with pytest.raises(httpx2.ReadTimeout):
        stream(pieces)
    assert b"".join(pieces).count(b"data: ") == 1
    assert 2.4 < time.monotonic() - began < 200
"""
    )
    done = project.pytest("replay")
    assert done.code == 0, done.out
    assert done.has("1 passed", "1 fault injected")


def test_what_a_server_still_waits_for_ends_with_the_test(project: Project) -> None:
    project.test("def test_plain(ask):\n    ask('one')\n")
    assert project.pytest("record", stack="server").code == 0
    # The server does not learn that its client has left, and would itself wait for a minute.
    project.test("""
import httpx2, pathlib, pytest, time

@pytest.mark.fault("slow-first-byte:300")
def test_plain(http_client):
    with pytest.raises(httpx2.ReadTimeout):
        http_client.post("/v1/ask", json={"say": "one"}, timeout=2.5)

def test_nothing_is_served_any_more():
    deadline = time.monotonic() + 45
    while left := list(pathlib.Path(".stackproof/runs").glob("*/cells/*/serving/*/*")):
        assert time.monotonic() < deadline, left
        time.sleep(0.02)
""")
    done = project.pytest("replay", "tests/integration", stack="server")
    assert done.code == 0, done.out
    assert done.has("2 passed", "1 fault injected")


def test_reruns_meet_the_fault_again(project: Project) -> None:
    project.test(RECORDED)
    assert project.pytest("record").code == 0
    project.test(
        MARKED.replace("assert answer.status_code == 429", "assert _again(answer)")
        + """
seen = []
def _again(answer):
    seen.append(answer.status_code)
    return len(seen) == 2 and seen == [429, 429]
"""
    )
    done = project.pytest("replay", "--reruns", "1", "tests/integration/test_it.py")
    assert done.code == 0, done.out
    assert done.has("2 passed, 1 rerun", "3 faults injected")


@STACKS
def test_workers_of_xdist_each_see_to_their_own_tests(project: Project, stack: str) -> None:
    names = [f"test_{number}" for number in range(6)]
    body = "    assert ask('{0}').json()['text'].endswith('{0}')\n"
    project.test("".join(f"def {name}(ask):\n{body.format(name)}\n" for name in names))
    assert project.pytest("record", stack=stack).code == 0
    marked = '@pytest.mark.fault("status:500,times=1")\n'
    tests = [
        f"{marked}def {name}(ask):\n    assert ask('{name}').status_code == 500\n{body.format(name)}\n"
        for name in names
    ]
    project.test("".join([*tests, '@pytest.mark.fault("cut:1")\ndef test_none():\n    pass\n']))
    done = project.pytest("replay", "-n", "2", "tests/integration", stack=stack)
    assert done.code == 1
    assert done.has("6 replayed, 0 recorded, 0 missed, 0 unused, 6 faults injected", "7 passed, 1 error")
    injected = lines(project, "injected")
    assert sorted(Path(line["scope"]).name.partition("::")[2] for line in injected) == names


def test_a_mark_outside_of_any_suite_does_not_pass_unnoticed(project: Project) -> None:
    (project.root / "tests/suites.yaml").unlink()
    project.test('import pytest\n\n@pytest.mark.fault("cut:1")\ndef test_a():\n    pass\n')
    done = project.pytest("replay", "--strict-markers", "tests/integration")
    assert done.code == 1
    assert done.has("no suite of Stackproof runs here", "1 error")


@STACKS
def test_a_marked_test_gets_the_answers_of_another_and_the_suite_can_be_recorded(project: Project, stack: str) -> None:
    marked = """
@pytest.mark.fault("cut:2", of="test_stream")
def test_lost(http_client):
    with pytest.raises(httpx2.RemoteProtocolError):
        stream(http_client)

@pytest.mark.fault("status:500", of="tests/integration/test_it.py::test_plain", call=2)
def test_second_fails(ask):
    assert [ask(say).status_code for say in ("one", "two")] == [200, 500]
"""
    project.test(RECORDED + marked)
    recorded = project.pytest("record", "-rs", "tests/integration", stack=stack)
    assert recorded.code == 0, recorded.out
    assert recorded.has("2 passed, 2 skipped", "3 files written")
    assert recorded.has("the answers are recorded by tests/integration/test_it.py::test_stream")
    # By itself, and beside the test whose answers they are.
    for picked, passed, replayed in (("test_lost or test_second", 2, 2), ("test", 4, 5)):
        done = project.pytest("replay", "-k", picked, "tests/integration", stack=stack, STACKPROOF_STRICT="1")
        assert done.code == 0, done.out
        assert done.has(f"{passed} passed", f"{replayed} replayed, 0 recorded, 0 missed, 0 unused, 2 faults injected")


def test_whose_answers_must_be_one_test_of_the_same_folder(project: Project) -> None:
    project.test("""
import pytest

@pytest.mark.fault("cut:2", of="tests/elsewhere/test_it.py::test_a")
def test_far():
    pass

@pytest.mark.fault("cut:2", of="test_a")
@pytest.mark.fault("cut:3", of="test_b")
def test_both():
    pass
""")
    done = project.pytest("replay")
    assert done.code == 1
    assert "During handling" not in done.out
    assert done.has("test_it.py::test_a is in another folder", "answers it gets: test_a and test_b", "2 errors")


@STACKS
def test_a_miss_names_the_test_whose_answers_were_looked_for(project: Project, stack: str) -> None:
    marked = """
@pytest.mark.fault("cut:2", of="test_streem")
def test_lost(http_client):
    stream(http_client)
"""
    project.test(RECORDED + marked)
    assert project.pytest("record", "tests/integration", stack=stack).code == 0
    done = project.pytest("replay", "tests/integration", stack=stack)
    assert done.code == 1
    assert done.has(
        "nothing is recorded for tests/integration/test_it.py::test_streem",
        "the same request is recorded for tests/integration/test_it.py::test_stream",
        "--pattern test_streem",
    )
    assert "--pattern test_lost" not in done.out
