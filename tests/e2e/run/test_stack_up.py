"""`stackproof stack up`: a stack by itself, up until somebody ends it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project

Begin = Callable[..., subprocess.Popen[str]]

UP = ("-m", "stackproof", "stack", "up")


def kept(project: Project, process: subprocess.Popen[str]) -> str:
    """The address that it tells, once it does."""

    def told() -> str:
        log = "".join(path.read_text() for path in project.root.glob(".stackproof/runs/*/cells/*/events.jsonl"))
        found = re.search(r'"event": "keep", "url": "([^"]+)"', log)
        return "" if found is None else found[1]

    project.wait_for("the stack", lambda: bool(told()) or process.poll() is not None)
    assert process.poll() is None, project.finish(process)
    return told()


def ask(url: str) -> str:
    """What the stack answers."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=60) as answer:
        text: str = answer.read().decode()
        return text


def test_it_can_be_reached_in_replay_and_ends_at_ctrl_c(project: Project, begin: Begin) -> None:
    process = begin("toy", program=UP)
    url = kept(project, process)
    assert ask(url + "/x") == "ok"
    process.send_signal(signal.SIGINT)
    output = project.finish(process)
    assert process.returncode == 0, output
    assert f"● kept at {url} until Ctrl-C" in output
    assert "SIGINT: the stack is torn down" in output
    assert "  stack  server:toy with setup local\n  from" in output
    assert project.left_behind() == []
    # It proves nothing, and must not stand in the way of what proves something.
    assert not (project.run_dir() / "manifest.json").exists()
    assert not (project.cell_dir() / "result.json").exists()


def test_a_run_that_keeps_its_stack_can_be_reached_in_replay_too(project: Project, begin: Begin) -> None:
    process = begin("--keep", program=("-m", "stackproof", "run"))
    assert ask(kept(project, process) + "/x") == "ok"
    process.send_signal(signal.SIGINT)
    output = project.finish(process)
    assert process.returncode == 0, output
    assert "1 passed" in output


def test_an_end_of_its_own_is_told(project: Project, begin: Begin) -> None:
    process = begin("toy", program=UP)
    kept(project, process)
    ready = [json.loads(line) for line in (project.cell_dir() / "events.jsonl").read_text().splitlines()]
    port = next(event["url"] for event in ready if event["event"] == "ready").rpartition(":")[2]
    os.kill(_server_of(project, port), signal.SIGKILL)
    output = project.finish(process)
    assert process.returncode == 1, output
    assert "while it was kept" in output, output
    assert "again: stackproof stack up toy" in output


def _server_of(project: Project, port: str) -> int:
    """The process that runs the stack's server: others may have that port in namespaces of their own."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_bytes().decode().split("\0")
            here = str(project.root) in (folder / "environ").read_bytes().decode(errors="replace")
            if here and words[1:3] == ["server.py", port]:
                return int(folder.name)
    pytest.fail(f"no process of the project serves at {port}")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("tou", "unknown stack 'tou', did you mean 'toy'?"),
        ("docker:toy", "stack 'toy' cannot be kept up as 'docker': only a container or a server can"),
        ("library:toy", "stack 'toy' cannot be kept up as 'library': only a container or a server can"),
    ],
)
def test_a_name_that_cannot_stand_by_itself_is_refused(project: Project, name: str, sentence: str) -> None:
    done = project.run(name, program=UP)
    assert done.code == 2, done.output
    assert sentence in done.output


def test_a_start_that_fails_says_so_and_how_to_try_again(project: Project) -> None:
    project.stack("toy", before="sys.exit(3)")
    done = project.run("toy", "--setup", "local", program=UP)
    assert done.code == 5, done.output
    assert "toy exited with code 3 after" in done.output
    assert "again: stackproof stack up toy --setup local" in done.output
