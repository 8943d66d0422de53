"""A container that is kept: after tests or without any, reached from outside, followed, and gone at the end."""

from __future__ import annotations

import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from stackproof.stack import labels, sweep
from stackproof.stack.engine import Engine
from stackproof.stack.engine_records import Owned

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project

Begin = Callable[..., subprocess.Popen[str]]

UP = ("-m", "stackproof", "stack", "up")
RUN = ("-m", "stackproof", "run", "--keep", "--stack-config")


def ask(url: str) -> str:
    """What the stack answers."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=60) as answer:
        text: str = answer.read().decode()
        return text


def of_run(engine: Engine, project: Project) -> list[Owned]:
    """What the newest run has on the engine: others may be running."""
    return [item for item in sweep.listed(engine) if item.labels[labels.RUN] == project.run_dir().name]


def kept(project: Project, process: subprocess.Popen[str]) -> str:
    """The address of the stack, once it is kept."""

    def lines() -> list[str]:
        found = list(project.root.glob(".stackproof/runs/*/cells/*/events.jsonl"))
        return [line for path in found for line in path.read_text().splitlines() if '"keep"' in line]

    project.wait_for("the stack", lambda: bool(lines()) or process.poll() is not None)
    assert process.poll() is None, project.finish(process)
    return lines()[0].rpartition('"url": "')[2].partition('"')[0]


@pytest.mark.parametrize("program", [RUN, UP], ids=["run --keep", "stack up"])
def test_it_is_reached_and_ctrl_c_takes_it_away(
    project: Project, begin: Begin, contained: Callable[..., str], engine: Engine, program: tuple[str, ...]
) -> None:
    process = begin(contained("toy"), program=program)
    url = kept(project, process)
    assert ask(url + "/x") == "ok"
    assert {item.kind for item in of_run(engine, project)} == {"container", "network"}
    process.send_signal(signal.SIGINT)
    output = project.finish(process)
    assert process.returncode == 0, output
    assert f"● kept at {url} until Ctrl-C" in output
    assert ("stackproof stack down" in output) is (program is UP)
    assert of_run(engine, project) == []


def test_its_log_is_followed_until_it_is_taken_down_from_elsewhere(
    project: Project, begin: Begin, contained: Callable[..., str]
) -> None:
    contained("toy")
    process = begin("toy", program=UP)
    url = kept(project, process)
    run = project.run_dir().name
    before = project.run(run, program=("-m", "stackproof", "stack", "logs"))
    assert before.code == 0
    assert before.output.startswith("starting\n")
    following = subprocess.Popen(
        [sys.executable, "-m", "stackproof", "stack", "logs", "--follow", run],
        cwd=project.root, env=project.environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        assert following.stdout is not None
        assert following.stdout.readline() == "starting\n"
        ask(url + "/asked-while-followed")
        assert "/asked-while-followed\n" in iter(following.stdout.readline, "")
        down = project.run(run, program=("-m", "stackproof", "stack", "down"))
        assert down.output.startswith(f"run {run} left "), down.output
        assert down.output.endswith(" and 1 network\n"), down.output
        assert following.wait(timeout=60) == 0
    finally:
        following.kill()
        following.communicate(timeout=60)
    output = project.finish(process)
    assert process.returncode == 1, output
    assert "toy was removed by somebody while it was kept" in output
