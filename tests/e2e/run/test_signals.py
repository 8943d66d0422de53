"""Signals: whoever gets which, everything is torn down, the report is written, the exit code says what happened."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project

SLOW = """
import pathlib, time
def test_one(): pass
def test_two(): pass
def test_three():
    pathlib.Path("in-three").touch()
    time.sleep(900)
def test_four(): pass
"""

# A stack that does not want to die, with a child that ran away from its process group.
STUBBORN = """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(900)"], start_new_session=True)
"""


def in_test_three(project: Project, process: subprocess.Popen[str]) -> None:
    project.wait_for("test three", lambda: (project.root / "in-three").exists() or process.poll() is not None)
    assert process.poll() is None, project.finish(process)


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)])
def test_a_signal_ends_the_run_in_order(project: Project, signum: int, code: int) -> None:
    project.tests(SLOW)
    process = project.start()
    in_test_three(project, process)
    process.send_signal(signum)
    output = project.finish(process)
    assert process.returncode == code, output
    report = (project.cell_dir() / "junit.xml").read_text()
    assert "test_one" in report
    assert "test_two" in report
    assert "test_four" not in report
    assert (project.cell_dir() / "result.json").exists()
    assert (project.run_dir() / "manifest.json").exists()
    assert project.left_behind() == []


def test_a_terminal_that_delivers_ctrl_c_twice_still_gets_its_report(project: Project) -> None:
    project.tests(SLOW)
    process = project.start()
    in_test_three(project, process)
    os.killpg(process.pid, signal.SIGINT)
    process.send_signal(signal.SIGINT)
    assert process.returncode or project.finish(process)
    assert process.returncode == 130
    assert "test_two" in (project.cell_dir() / "junit.xml").read_text()


def test_a_second_request_stops_a_test_that_does_not_listen(project: Project) -> None:
    project.tests(
        "import pathlib, time\n"
        "def test_deaf():\n"
        "    pathlib.Path('in-three').touch()\n"
        "    while True:\n"
        "        try:\n"
        "            time.sleep(900)\n"
        "        except KeyboardInterrupt:\n"
        "            pathlib.Path('heard').touch()\n"
    )
    process = project.start()
    in_test_three(project, process)
    process.send_signal(signal.SIGINT)
    project.wait_for("the first Ctrl-C", (project.root / "heard").exists)
    time.sleep(0.6)  # nearer ones count as the same request
    process.send_signal(signal.SIGINT)
    output = project.finish(process)
    assert process.returncode == 130, output


def test_a_signal_while_the_stack_starts_ends_it(project: Project) -> None:
    project.stack("toy", before="open('started', 'w').close(); import time; time.sleep(900)", timeout=800)
    process = project.start()
    project.wait_for("the start", (project.root / "stacks" / "toy" / "started").exists)
    process.send_signal(signal.SIGTERM)
    output = project.finish(process)
    assert process.returncode == 143, output
    assert project.left_behind() == []


def test_a_stubborn_stack_and_its_runaway_child_are_killed(project: Project) -> None:
    project.stack("toy", before=STUBBORN)
    done = project.run()
    assert done.code == 0, done.output
    assert project.left_behind() == []


def test_killing_the_run_itself_takes_tests_and_stack_with_it(project: Project) -> None:
    project.tests(SLOW)
    process = project.start()
    in_test_three(project, process)
    process.kill()
    project.finish(process)
    project.wait_for("the end of all processes", lambda: not project.left_behind())
    assert "test_two" in (project.cell_dir() / "junit.xml").read_text()
    assert project.outcome()["signal"] == "SIGTERM"


def test_killing_the_cell_is_noticed_named_and_cleaned_up(project: Project) -> None:
    project.tests(SLOW)
    process = project.start()
    in_test_three(project, process)
    for pid in _pids_of("stackproof.run.cell", project.root):
        os.kill(pid, signal.SIGKILL)
    output = project.finish(process)
    assert process.returncode == 70, output
    assert "ended without saying how" in output
    assert project.left_behind() == []


def test_what_a_killed_run_left_is_swept_by_the_next_and_nothing_else(project: Project) -> None:
    project.tests(SLOW)
    process = project.start()
    in_test_three(project, process)
    pids = _pids_of("stackproof.run.cell", project.root)
    dead = project.run_dir()
    # Both at once, so that nobody tears down: the stack ends by itself, but a process that ran away would not.
    environ = {**project.environ, "STACKPROOF_RUN_ID": dead.name, "STACKPROOF_RUN_DIR": str(project.cell_dir())}
    runaway = subprocess.Popen(["sleep", "900"], env=environ, start_new_session=True)
    bystander = subprocess.Popen(["sleep", "900"], env={**environ, "STACKPROOF_RUN_DIR": "/elsewhere"})
    try:
        process.kill()
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        project.finish(process)
        project.tests("def test_passes(): pass\n")
        done = project.run()
        assert done.code == 0, done.output
        assert f"run {dead.name} was killed" in done.output
        assert runaway.wait(timeout=60) < 0
        assert bystander.poll() is None
    finally:
        for left in (runaway, bystander):
            left.kill()
            left.wait(timeout=60)


def test_keep_leaves_the_stack_up_until_ctrl_c_which_is_no_failure(project: Project) -> None:
    process = project.start("--keep")

    def kept() -> bool:
        log = [path.read_text() for path in project.root.glob(".stackproof/runs/*/cells/*/events.jsonl")]
        return any('"keep"' in text for text in log) or process.poll() is not None

    project.wait_for("the keeping", kept)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    output = project.finish(process)
    assert process.returncode == 0, output
    assert "● kept at http://127.0.0.1:" in output


def test_when_nobody_reads_the_output_any_more_everything_is_still_torn_down(project: Project) -> None:
    project.tests(SLOW)
    process = project.start()
    assert process.stdout is not None
    in_test_three(project, process)
    process.stdout.close()
    process.send_signal(signal.SIGINT)  # the line about it has nowhere to go
    process.wait(timeout=180)
    assert process.returncode not in (0, None)
    assert project.left_behind() == []
    assert "test_two" in (project.cell_dir() / "junit.xml").read_text()


def test_a_signal_that_comes_at_once_is_not_taken_for_a_crash(project: Project) -> None:
    process = project.start()
    project.wait_for("the cell", lambda: bool(list(project.root.glob(".stackproof/runs/*/cells/*/cell.log"))))
    process.send_signal(signal.SIGTERM)
    output = project.finish(process)
    assert process.returncode == 143, output
    assert project.left_behind() == []


NOX = pytest.mark.skipif(importlib.util.find_spec("nox") is None, reason="nox is not installed here")
NOXFILE = Path(__file__).parents[3] / "noxfile.py"


@NOX
@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_nox_hands_signals_on_waits_and_passes_the_exit_code(project: Project, signum: int, code: int) -> None:
    shutil.copy(NOXFILE, project.root)
    project.tests(SLOW)
    process = project.start("--setup", "local", program=("-m", "nox", "--no-venv", "-s", "integration", "--"))
    in_test_three(project, process)
    process.send_signal(signum)
    output = project.finish(process)
    assert process.returncode == code, output
    assert "test_two" in (project.cell_dir() / "junit.xml").read_text()
    assert project.left_behind() == []


@NOX
@pytest.mark.parametrize(
    ("tests", "code"),
    [("def test_passes(): pass\n", 0), ("def test_fails(): assert False\n", 1), ("", 3)],
)
def test_nox_passes_every_exit_code_through(project: Project, tests: str, code: int) -> None:
    shutil.copy(NOXFILE, project.root)
    project.tests(tests)
    done = project.run(program=("-m", "nox", "--no-venv", "-s", "integration", "--"))
    assert done.code == code, done.output


def _pids_of(module: str, root: Path) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        try:
            command = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if module.encode() in command and any(str(root).encode() in part for part in command):
            found.append(int(folder.name))
    return found
