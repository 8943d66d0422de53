"""Workers and servers that are killed, calls that outlive their test: never a half file, never another's answer."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from stackproof.plan import RUNS

if TYPE_CHECKING:
    from tests.e2e.recorder.conftest import Probe, Project


def _every_file_is_whole(project: Project) -> None:
    for path in project.files():
        assert path.suffix == ".json", path
        assert json.loads(path.read_text())["response"]["complete"] is True


def test_a_test_that_killed_its_worker_starts_anew_in_the_next_one(project: Project, probe: Probe) -> None:
    project.test("""
import os, pathlib, signal

@pytest.fixture(scope="module")
def wide(ask):
    return ask("wide").json()["text"]

@pytest.mark.parametrize("n", range(3))
def test_other(ask, wide, n):
    ask(f"n {n}")

def test_killer(ask, wide):
    first = ask("same").json()["text"]
    mark = pathlib.Path("killed")
    if not mark.exists():
        mark.write_text("")
        os.kill(os.getpid(), signal.SIGKILL)
    assert ask("same").json()["text"] != first
""")
    arguments = ("tests/integration", "-n", "2", "--reruns", "1")
    recorded = project.pytest("record", *arguments)
    assert recorded.code == 0, recorded.out
    assert recorded.has("crashed", "1 rerun")
    _every_file_is_whole(project)
    assert len(project.files()) == 6
    assert probe.said.count("wide") == 1
    asked = len(probe.asked)
    (project.root / "killed").unlink()
    replayed = project.pytest("replay", *arguments)
    assert replayed.code == 0, replayed.out
    assert replayed.has("1 rerun", "0 recorded, 0 missed, 0 unused")
    assert len(probe.asked) == asked


def test_a_server_that_is_killed_in_the_middle_leaves_what_was_there(project: Project, probe: Probe) -> None:
    source = """
import os, signal, threading, time
import httpx2

def test_a(ask):
    ask("one")

def test_b(ask, stack):
    ask("before")
    DIE
    ask("after", to="stream")
"""
    project.test(source.replace("    DIE\n", ""))
    assert project.pytest("record", stack="server").code == 0
    before = project.recordings()
    assert len(before) == 3
    # While the provider is still at it, in the middle of a request.
    kill = "threading.Timer(0.3, lambda: os.kill(stack.pid, signal.SIGKILL)).start(); ask('hold')"
    project.test(source.replace("DIE", kill))
    import threading

    probe.hold = threading.Event()
    ended = project.pytest("record", stack="server")
    assert ended.code == 1, ended.out
    assert "1 failed, 1 passed" in ended.counts
    _every_file_is_whole(project)
    assert project.recordings().keys() == before.keys()
    assert {key: text for key, text in project.recordings().items() if "test_b" in key} == {
        key: text for key, text in before.items() if "test_b" in key
    }


def test_a_call_that_comes_after_its_test_is_said_to_be_late_and_never_kept(project: Project, probe: Probe) -> None:
    project.test("""
import os, threading
import httpx2

over = threading.Event()
LATE = []

def late():
    over.wait(120)
    httpx2.post(os.environ["PROBE_URL"] + "/answers", json={"say": "late"}, trust_env=False, timeout=60)

def test_a(ask):
    ask("in time")
    LATE.append(threading.Thread(target=late))
    LATE[0].start()

def test_b(ask):
    over.set()
    LATE[0].join(120)
    ask("own")
""")
    recorded = project.pytest("record")
    assert recorded.code == 0, recorded.out
    assert recorded.has("late: 1 provider call came after its test had ended")
    kept = ["test_it.py::test_a in time", "test_it.py::test_b own"]
    assert sorted(project.recordings()) == kept
    (run,) = (project.root / RUNS).iterdir()
    command = [sys.executable, "-m", "stackproof", "recordings", "promote", run.name]
    done = subprocess.run(command, cwd=project.root, capture_output=True, text=True, timeout=240, check=False)
    assert "0 files written, 0 removed" in done.stdout, done.stderr
    assert sorted(project.recordings()) == kept
    replayed = project.pytest("replay")
    assert replayed.code == 6, "a call that nothing answers is told, though no test can be failed for it any more"
    assert replayed.has("2 replayed, 0 recorded, 1 missed", "late: 1 provider call came")
    assert probe.said.count("late") == 1


@pytest.mark.parametrize("stack", ["library", "server"])
def test_a_stream_that_nobody_closes_is_kept_as_far_as_it_was_read(project: Project, stack: str) -> None:
    project.test("""
import os
import httpx2

LEFT = []

def test_direct():
    client = httpx2.Client(trust_env=False)
    request = client.build_request("POST", os.environ["PROBE_URL"] + "/answers", json={"say": "d", "stream": True})
    answer = client.send(request, stream=True)
    pieces = answer.iter_bytes()
    assert b'"n": 0' in next(pieces).replace(b":0", b": 0")
    LEFT.append((client, answer, pieces))

def test_through_the_stack(http_client):
    context = http_client.stream("POST", "/v1/stream", json={"say": "s"})
    answer = context.__enter__()
    pieces = answer.iter_bytes()
    next(pieces)
    LEFT.append((context, answer, pieces))
""")
    recorded = project.pytest("record", stack=stack)
    assert recorded.code == 0, recorded.out
    assert len(project.files()) == 2, recorded.out
    replayed = project.pytest("replay", stack=stack)
    assert replayed.code == 0, replayed.out
    assert replayed.has("2 replayed, 0 recorded, 0 missed, 0 unused")
