"""A stack in a container: reached by its tests, watched while it starts, and gone afterwards."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.e2e.run.docker.neighbours import UNTIL_SEEN

from stackproof.stack import built, labels, sweep
from stackproof.stack.engine import Engine
from stackproof.stack.engine_records import Owned

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project

Add = Callable[..., str]
Left = Callable[[], list[str]]

ASK = """
import json, os, urllib.request

def ask(path):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(os.environ["STACKPROOF_API_BASE_URL"] + path, timeout=60) as answer:
        return answer.read().decode()
"""
SLOW = """
import pathlib, time
def test_one(): pass
def test_two():
    pathlib.Path("in-two").touch()
    time.sleep(900)
"""
VALUE = "two words, \"double\" and 'single' quotes, # a hash,\nanother line, $HOME and `a tick`"


def in_test_two(project: Project, process: subprocess.Popen[str]) -> None:
    project.wait_for("test two", lambda: (project.root / "in-two").exists() or process.poll() is not None)
    assert process.poll() is None, project.finish(process)


def of_run(engine: Engine, project: Project) -> Owned:
    """The container of the newest run: others may be running."""
    found = [item for item in sweep.listed(engine) if item.labels[labels.RUN] == project.run_dir().name]
    (container,) = [item for item in found if item.kind == "container"]
    return container


def test_tests_reach_the_stack_and_its_log_begins_with_its_first_byte(project: Project, contained: Add) -> None:
    project.tests(ASK + "def test_answers():\n    assert ask('/x') == 'ok'\n")
    done = project.run("--stack-config", contained("toy"))
    assert done.code == 0, done.output
    assert "sealed (network namespace)" in done.output
    log = (project.cell_dir() / "stack.log").read_text()
    assert log.startswith("starting\n")
    assert "/x" in log


WAY_OUT = """
        if self.path.startswith("/out/"):
            import socket, time
            began, said = time.monotonic(), "connected"
            try:
                host = self.path.rpartition("/")[2]
                where = socket.getaddrinfo(host, 80, type=socket.SOCK_STREAM)[0][4]
                socket.create_connection(where[:2], timeout=30).close()
            except Exception as error:
                said = type(error).__name__ + ": " + str(error)
            body = json.dumps([said, time.monotonic() - began]).encode()
"""
OUTSIDE = ("192.0.2.1", "10.255.255.1", "api.openai.com")


def test_nothing_gets_out_of_the_container_in_replay(project: Project, contained: Add) -> None:
    project.tests(
        ASK + "import pytest\n"
        f"@pytest.mark.parametrize('host', {OUTSIDE!r})\n"
        "def test_no_way_out(host):\n"
        "    said, seconds = json.loads(ask('/out/' + host))\n"
        "    assert said != 'connected' and seconds < 4, (said, seconds)\n"
    )
    done = project.run("--stack-config", contained("toy", more=WAY_OUT))
    assert done.code == 0, done.output


def test_with_the_recorder_inside_each_way_out_fails_at_once_with_its_name(project: Project, contained: Add) -> None:
    project.tests(
        ASK + "import pytest\n"
        f"@pytest.mark.parametrize('host', {OUTSIDE!r})\n"
        "def test_no_way_out(host):\n"
        "    said, seconds = json.loads(ask('/out/' + host))\n"
        "    assert said.startswith('NetworkBlockedError: a connection to ' + host)\n"
        "    assert seconds < 4\n"
    )
    done = project.run("--stack-config", contained("toy", more=WAY_OUT, under_exec=True))
    # Whoever swallows the error fails all the same.
    assert done.code == 1, done.output
    for host in OUTSIDE:
        assert f"a connection to {host}" in done.output


def test_an_early_death_is_told_at_once(project: Project, contained: Add) -> None:
    stack = contained("toy", before="import time\ntime.sleep(0.2)\nprint('no good')\nsys.exit(3)", timeout=900)
    # Waited for until its time is up, the run would not end before the test has given it up.
    done = project.run("--stack-config", stack)
    assert done.code == 5, done.output
    assert "toy exited with code 3 after" in done.output
    assert "no good" in done.output
    assert (project.cell_dir() / "stack.log").read_text() == "starting\nno good\n"


def test_a_wrong_answer_is_not_ready(project: Project, contained: Add) -> None:
    done = project.run("--stack-config", contained("toy", status=404, timeout=10))
    assert done.code == 5, done.output
    assert "answered 404 after 10 s; 200 was expected" in done.output


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_takes_the_container_away_and_keeps_the_report(
    project: Project, contained: Add, left_on_engine: Left, signum: int, code: int
) -> None:
    project.tests(SLOW)
    process = project.start("--stack-config", contained("toy"))
    in_test_two(project, process)
    assert len(left_on_engine()) == 2
    process.send_signal(signum)
    output = project.finish(process)
    assert process.returncode == code, output
    assert "test_one" in (project.cell_dir() / "junit.xml").read_text()
    assert left_on_engine() == []


def test_what_a_killed_run_left_goes_at_the_next_start_and_nothing_else(
    project: Project, contained: Add, engine: Engine, left_on_engine: Left, temporary: Path
) -> None:
    project.tests(SLOW)
    stack = contained("toy")
    process = project.start("--stack-config", stack)
    in_test_two(project, process)
    cell = json.loads((project.cell_dir() / "cell.json").read_text())
    own = [item for item in sweep.listed(engine) if item.labels[labels.RUN] == cell["run_id"]]
    assert {item.kind for item in own} == {"container", "network"}
    alive = labels.of("alive", "toy", labels.owner(os.getpid()))
    network = engine.create_network(f"stackproof-alive-{os.getpid()}", labels=alive, internal=True)
    try:
        # The cell's process first: it would tear down when its orchestrator is gone.
        marker = f"STACKPROOF_RUN_ID={cell['run_id']}"
        project.kill(process, *(pid for pid in map(int, _pids_of(str(project.cell_dir()))) if pid != process.pid))
        assert len(left_on_engine()) == 3, marker
        ways = set(temporary.glob("stackproof-way-*"))
        assert len(ways) == 1
        (project.root / "in-two").unlink()
        project.tests("def test_passes(): pass\n")
        done = project.run("--stack-config", stack)
        assert done.code == 0, done.output
        assert f"run {cell['run_id']} was killed; removed 1 container and 1 network" in done.output
        assert left_on_engine() == [f"network stackproof-alive-{os.getpid()}"]
        assert list(temporary.glob("stackproof-way-*")) == []
    finally:
        engine.remove_network(network)


def _pids_of(cell_dir: str) -> list[str]:
    done = subprocess.run(
        ["pgrep", "-f", f"stackproof.run.cell {cell_dir}"], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_two_runs_at_once_share_nothing(project: Project, contained: Add, left_on_engine: Left) -> None:
    project.tests(ASK + "import time\ndef test_answers():\n    time.sleep(1)\n    assert ask('/x') == 'ok'\n")
    stack = contained("toy")
    runs = [project.start("--stack-config", stack) for _ in range(2)]
    outputs = [project.finish(process) for process in runs]
    assert [process.returncode for process in runs] == [0, 0], outputs
    assert left_on_engine() == []


def test_values_arrive_unchanged_and_show_nowhere(project: Project, contained: Add, engine: Engine) -> None:
    (project.root / "stacks/setups.yaml").write_text(
        "local:\n  description: a secret\n  env: {PLAIN: ''}\n  secrets: [TOY_TOKEN]\n"
    )
    secret = "tk-" + "7f3c2a91" * 4
    project.tests(
        ASK + "import pathlib, time\n"
        f"def test_values():\n    assert json.loads(ask('/variable/PLAIN')) == {VALUE!r}\n"
        f"    assert json.loads(ask('/variable/TOY_TOKEN')) == {secret!r}{UNTIL_SEEN}"
    )
    project.environ.update({"PLAIN": VALUE, "TOY_TOKEN": secret})
    process = project.start("--stack-config", contained("toy"))
    in_test_two(project, process)
    container = of_run(engine, project)
    inspected = json.dumps(engine.inspected(container.id))
    listed = subprocess.run(["ps", "-eww", "-o", "args"], capture_output=True, text=True, check=True).stdout
    (project.root / "go-on").touch()
    output = project.finish(process)
    assert process.returncode == 0, output
    assert secret not in inspected
    assert "two words" not in inspected
    assert secret not in listed
    assert secret not in output
    for path in project.run_dir().rglob("*"):
        assert not path.is_file() or secret not in path.read_text(errors="replace"), path


def test_what_the_container_writes_belongs_to_the_caller(project: Project, contained: Add) -> None:
    before = "open(os.environ['STACKPROOF_RUN_DIR'] + '/written', 'w').close()"
    done = project.run("--stack-config", contained("toy", before=before))
    assert done.code == 0, done.output
    assert (project.cell_dir() / "written").stat().st_uid == os.getuid()


@pytest.mark.usefixtures("fresh")
def test_nothing_is_built_twice_and_a_change_is(project: Project, contained: Add, engine: Engine) -> None:
    first = project.run("--stack-config", contained("toy"))
    assert "building stackproof/toy:" in first.output
    again = project.run("--stack-config", contained("toy"))
    assert (again.code, "building" in again.output) == (0, False), again.output
    changed = project.run("--stack-config", contained("toy", more="        assert True"))
    assert "building stackproof/toy:" in changed.output
    assert len(built.of(engine, "toy")) == 2


def test_a_failed_build_step_is_told_with_its_output(project: Project, contained: Add) -> None:
    dockerfile = "ARG BASE\nFROM ${BASE}\nRUN echo so far so good && exit 9\n"
    done = project.run("--stack-config", contained("toy", dockerfile=dockerfile))
    assert done.code == 4, done.output
    assert "could not be built: Step 3/5 : RUN echo so far so good && exit 9" in done.output
    assert "so far so good\n" in done.output


def test_a_base_image_that_is_not_there_is_named(project: Project, contained: Add) -> None:
    stack = contained("toy")
    project.environ["STACKPROOF_DOCKER_BASE"] = "nobody/has:this"
    done = project.run("--stack-config", stack)
    assert done.code == 4, done.output
    assert "nobody/has:this, is not on the engine at" in done.output


def test_without_an_engine_the_endpoint_and_the_way_without_it_are_named(project: Project, contained: Add) -> None:
    stack = contained("toy")
    project.environ["DOCKER_HOST"] = "unix:///nowhere/docker.sock"
    done = project.run("--stack-config", stack)
    assert done.code == 4, done.output
    assert "no Docker engine answered at unix:///nowhere/docker.sock (DOCKER_HOST)" in done.output
    assert "Traceback" not in done.output


def test_a_container_that_somebody_removes_is_told_and_its_log_stays(
    project: Project, contained: Add, engine: Engine
) -> None:
    project.tests(
        "import pathlib, time\n"
        "def test_two():\n    pathlib.Path('in-two').touch()\n"
        "    for _ in range(6000):\n        if pathlib.Path('go-on').exists(): break\n        time.sleep(0.05)\n"
    )
    process = project.start("--stack-config", contained("toy"))
    in_test_two(project, process)
    container = of_run(engine, project)
    engine.remove(container.id)
    (project.root / "go-on").touch()
    output = project.finish(process)
    assert process.returncode == 1, output
    assert "was removed by somebody while the tests ran" in output
    assert (project.cell_dir() / "stack.log").read_text().startswith("starting\n")
