"""How a shared container ends, and what is left of it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from stackproof.stack import labels, sweep
from stackproof.stack.engine import Engine
from stackproof.stack.engine_records import Owned

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project
from tests.e2e.run.docker.shared.conftest import ASK, UNTIL_ENDED, cells, facts


def of_run(engine: Engine, project: Project) -> list[Owned]:
    """What the newest run has on the engine."""
    return [item for item in sweep.listed(engine) if item.labels[labels.RUN] == project.run_dir().name]


STARTS_BADLY = """
if os.environ["STACKPROOF_SUITE"] == "c1":
    print("no good", flush=True)
    os._exit(3)
"""


def test_an_early_death_is_told_as_that_of_a_container_of_its_own(project: Project, shared: Callable[..., str]) -> None:
    done = project.run("--suite", shared(3, before=STARTS_BADLY), "--stack-config", "docker:toy")
    assert done.code == 5, done.output
    assert "toy did not start in the container of an earlier cell, and gets a new one" in done.output
    assert "toy exited with code 3 after" in done.output
    assert "no good" in done.output
    assert (cells(project)[1] / "stack.log").read_text() == "starting\nno good\n" * 2


LEAVES = """
def test_leaves_something():
    ask("open('/var/tmp/left-by-' + os.environ['STACKPROOF_SUITE'], 'w').close()")
    pathlib.Path(os.environ['STACKPROOF_RUN_DIR'], 'facts.json').write_text(json.dumps({
        "host": ask("os.uname().nodename"), "left": ask("os.listdir('/var/tmp')")}))
"""


def test_a_container_in_which_a_file_stays_is_not_handed_on(project: Project, shared: Callable[..., str]) -> None:
    done = project.run("--suite", shared(2, tests=LEAVES), "--stack-config", "docker:toy")
    assert done.code == 0, done.output
    assert "toy left /var/tmp/left-by-c0 in its container: the next cell gets a new one" in done.output
    first, last = facts(project)
    assert first["host"] != last["host"]
    assert (first["left"], last["left"]) == (["left-by-c0"], ["left-by-c1"])


DAEMON = """
PROGRAMS = "[open('/proc/' + name + '/cmdline').read() for name in os.listdir('/proc') if name.isdigit()]"
def test_starts_a_daemon():
    assert not [name for name in ask(PROGRAMS) if "sleep" in name]
    ask("os.spawnlp(os.P_NOWAIT, 'setsid', 'setsid', 'sh', '-c', 'trap : TERM; while :; do sleep 3; done')")
    facts = {"host": ask("os.uname().nodename")}
    pathlib.Path(os.environ['STACKPROOF_RUN_DIR'], 'facts.json').write_text(json.dumps(facts))
"""


def test_what_ran_away_from_its_cell_is_gone_before_the_next(project: Project, shared: Callable[..., str]) -> None:
    done = project.run("--suite", shared(2, tests=DAEMON), "--stack-config", "docker:toy")
    assert done.code == 0, done.output
    first, last = facts(project)
    assert first["host"] == last["host"]


WAITS = """
def test_waits():
    if os.environ["STACKPROOF_SUITE"] == "c1":
        pathlib.Path("in-c1").touch()
        time.sleep(900)
"""


def in_second(project: Project, process: subprocess.Popen[str]) -> None:
    project.wait_for("cell two", lambda: (project.root / "in-c1").exists() or process.poll() is not None)
    assert process.poll() is None, project.finish(process)


def pids(project: Project, process: subprocess.Popen[str]) -> list[int]:
    """The processes of the newest run's cells."""
    command = ["pgrep", "-f", f"stackproof.run.cell {project.run_dir()}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [int(line) for line in done.stdout.split() if int(line) != process.pid]


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_takes_the_container_away(
    project: Project, shared: Callable[..., str], engine: Engine, signum: int, code: int
) -> None:
    process = project.start("--suite", shared(3, tests=WAITS), "--stack-config", "docker:toy")
    in_second(project, process)
    assert {item.kind for item in of_run(engine, project)} == {"container", "network"}
    process.send_signal(signum)
    output = project.finish(process)
    assert process.returncode == code, output
    assert of_run(engine, project) == []


def test_a_cell_that_is_killed_leaves_nothing_to_its_run(
    project: Project, shared: Callable[..., str], engine: Engine
) -> None:
    process = project.start("--suite", shared(3, tests=WAITS), "--stack-config", "docker:toy")
    in_second(project, process)
    (pid,) = pids(project, process)
    os.kill(pid, signal.SIGKILL)
    output = project.finish(process)
    assert process.returncode not in (0, None), output
    assert of_run(engine, project) == []


def test_what_a_killed_run_left_goes_at_the_next_start(
    project: Project, shared: Callable[..., str], engine: Engine
) -> None:
    suites = shared(3, tests=WAITS)
    process = project.start("--suite", suites, "--stack-config", "docker:toy")
    in_second(project, process)
    left = of_run(engine, project)
    run = project.run_dir()
    project.kill(process, *pids(project, process))
    # Nobody reads the stack's input any more: it has ended, and only what holds the container is there.
    assert [item.kind for item in of_run(engine, project)] == [item.kind for item in left]
    (project.root / "in-c1").unlink()
    again = project.run("--suite", "c0", "--stack-config", "docker:toy")
    assert again.code == 0, again.output
    assert f"run {run.name} was killed; removed 1 container and 1 network" in again.output


def test_an_orchestrator_that_is_killed_leaves_nothing(
    project: Project, shared: Callable[..., str], engine: Engine
) -> None:
    process = project.start("--suite", shared(3, tests=WAITS), "--stack-config", "docker:toy")
    in_second(project, process)
    process.kill()
    project.finish(process)
    project.wait_for("the end of the container", lambda: of_run(engine, project) == [])


def test_a_kept_stack_is_reached_and_taken_away(project: Project, shared: Callable[..., str], engine: Engine) -> None:
    process = project.start("--suite", shared(2), "--stack-config", "docker:toy", "--keep")

    def kept() -> bool:
        return any(
            '"keep"' in path.read_text() for path in project.root.glob(".stackproof/runs/*/cells/*/events.jsonl")
        )

    project.wait_for("the stack", lambda: kept() or process.poll() is not None)
    assert process.poll() is None, project.finish(process)
    assert {item.kind for item in of_run(engine, project)} == {"container", "network"}
    process.send_signal(signal.SIGINT)
    project.finish(process)
    assert of_run(engine, project) == []


HUNGRY = (
    UNTIL_ENDED
    + """
def test_eats():
    if os.environ["STACKPROOF_SUITE"] == "c1":
        pathlib.Path("in-c1").touch()
        while not pathlib.Path("go").exists():
            time.sleep(0.05)
        try:
            ask("len(bytearray(os.urandom(1) * 400_000_000))")
        except OSError:
            until_ended()
"""
)


def test_a_stack_that_runs_out_of_memory_is_told_so(
    project: Project, shared: Callable[..., str], engine: Engine
) -> None:
    process = project.start("--suite", shared(3, tests=HUNGRY), "--stack-config", "docker:toy")
    in_second(project, process)
    (container,) = [item for item in of_run(engine, project) if item.kind == "container"]
    command = ["docker", "update", "--memory", "64m", "--memory-swap", "64m", container.id]
    limited = subprocess.run(command, capture_output=True, text=True, check=False)
    (project.root / "go").touch()
    output = project.finish(process)
    if limited.returncode != 0:
        pytest.skip(f"needs a limit for memory: {limited.stderr}")
    assert process.returncode == 1, output
    assert "toy was ended by the engine: it ran out of memory while the tests ran" in output
    assert "PASS  c2" in output


NOTES_ITS_END = """
import signal, time

def ended(*_):
    with open(os.environ["STACKPROOF_RUN_DIR"] + "/told", "w") as file:
        file.write(repr(time.time()))
    os._exit(0)

signal.signal(signal.SIGTERM, ended)
"""


ENDS_SLOWLY = (
    ASK
    + """
import atexit

def note(name):
    pathlib.Path(os.environ["STACKPROOF_RUN_DIR"], name).write_text(repr(time.time()))

def pytest_unconfigure():
    ask("1")
    note("last")

def gone():
    told = pathlib.Path(os.environ["STACKPROOF_RUN_DIR"], "told")
    for _ in range(1200):
        if told.exists() and told.read_text():
            break
        time.sleep(0.05)
    note("gone")

atexit.register(gone)
"""
)


@pytest.mark.parametrize("yes", [True, False], ids=["shared", "alone"])
def test_a_stack_ends_while_its_pytest_does_and_not_before_that_has_done_with_it(
    project: Project, shared: Callable[..., str], yes: bool
) -> None:
    suites = shared(2, before=NOTES_ITS_END, yes=yes, tests="def test_passes(): pass\n")
    (project.root / "tests" / "integration" / "conftest.py").write_text(ENDS_SLOWLY)
    done = project.run("--suite", suites, "--stack-config", "docker:toy")
    assert done.code == 0, done.output
    for cell in cells(project):
        last, told, gone = (float((cell / name).read_text()) for name in ("last", "told", "gone"))
        assert last < told < gone


def test_a_stack_is_there_for_what_comes_after_the_tests(project: Project, shared: Callable[..., str]) -> None:
    suites = shared(2, before=NOTES_ITS_END, tests="def test_passes(): pass\n")
    command = "sleep 0.3; touch $STACKPROOF_RUN_DIR/after; test ! -e $STACKPROOF_RUN_DIR/told"
    done = project.run("--suite", suites, "--stack-config", "docker:toy", "--post-command", command)
    assert done.code == 0, done.output
    assert all((cell / "after").exists() and (cell / "told").exists() for cell in cells(project))
