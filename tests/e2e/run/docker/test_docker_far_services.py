"""Containers beside a stack on an engine that shares neither folders nor addresses: as on this machine's own."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from tests.e2e.run.docker.neighbours import ASK, JOB, PASSED_ON, SERVICE, Beside, script

from stackproof.stack import sweep
from stackproof.stack.engine import Engine

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project

Add = Callable[..., str]
pytestmark = pytest.mark.usefixtures("far")


@pytest.mark.parametrize("mode", ["replay", "record"])
def test_they_start_in_their_order_and_the_stack_calls_them(
    project: Project, contained: Add, beside: Beside, mode: str
) -> None:
    beside("second", needs=["first"], env={"URL": "{FIRST_URL}"}, **JOB, **script("echo second after $URL"))
    beside("first", env={"SAYS": "here I am"}, provides={"FIRST_URL": "http://{host}:{port}/"}, **SERVICE)
    project.tests(ASK + "def test_answers():\n    assert ask('/beside/') == 'here I am'\n")
    done = project.run("--stack-config", contained("shop", more=PASSED_ON), "--inference-mode", mode)
    assert done.code == 0, done.output
    told = [line.split()[1:3] for line in done.output.splitlines() if line.startswith("●")]
    assert told == [["first", "ready"], ["second", "completed"], ["shop", "ready"]]
    assert (project.cell_dir() / "second.log").read_text() == "second after http://first:8000/\n"
    # Asked whether it is ready, and then by the stack.
    assert (project.cell_dir() / "first.log").read_text().splitlines()[-1] == "/"


def test_an_early_end_is_told_with_what_it_wrote(project: Project, contained: Add, beside: Beside) -> None:
    beside("first", ready={"path": "/", "timeout": 900}, **script("echo out of order >&2; exit 7"))
    done = project.run("--stack-config", contained("shop"))
    assert done.code == 5, done.output
    assert "first exited with code 7 after" in done.output
    assert (project.cell_dir() / "first.log").read_text() == "out of order\n"


def test_a_signal_while_one_starts_takes_it_and_the_way_to_it_away(
    project: Project, contained: Add, beside: Beside, engine: Engine
) -> None:
    beside("first", ready={"path": "/", "timeout": 900}, **script("exec sleep 900"))
    process = project.start("--stack-config", contained("shop"))

    def leads() -> bool:
        return any("-way-first-" in item.name for item in sweep.listed(engine))

    project.wait_for("the way to the first", lambda: leads() or process.poll() is not None)
    process.send_signal(signal.SIGTERM)
    output = project.finish(process)
    assert process.returncode == 143, output
    assert not leads()
