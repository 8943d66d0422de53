"""One command: its log, its end, what it leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stackproof.errors import StackStartError
from stackproof.stack import proctable
from stackproof.stack.process import Process, describe_exit, last_lines, tail


def process(tmp_path: Path, code: str, **environment: str) -> Process:
    return Process(
        name="toy",
        command=[sys.executable, "-c", code],
        environment={"PATH": os.environ["PATH"], **environment},
        cwd=tmp_path,
        log=tmp_path / "toy.log",
    )


def ended(one: Process, within: float = 60) -> int:
    deadline = time.monotonic() + within
    while (code := one.poll()) is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return code


def gone(pid: int, within: float = 60) -> bool:
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        # Whoever inherits it may take its time to bury it, as the first process of many a container does.
        if (found := proctable.entry(pid)) is not None and not found.running:
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize(
    ("code", "words"),
    [(None, "is running"), (0, "exited with code 0"), (-9, "was ended by SIGKILL"), (-99, "was ended by signal 99")],
)
def test_an_exit_is_described_in_words(code: int | None, words: str) -> None:
    assert describe_exit(code) == words


def test_output_and_errors_are_in_the_log_from_the_first_byte(tmp_path: Path) -> None:
    one = process(tmp_path, "import os; os.write(1, b'first\\n'); os.write(2, b'second\\n'); raise SystemExit(3)")
    one.start()
    assert ended(one) == 3
    assert one.ending() == "exited with code 3"
    assert one.tail() == ("first", "second")
    one.stop()


def test_the_environment_is_what_was_given_and_nothing_else(tmp_path: Path) -> None:
    one = process(tmp_path, "import os; print(sorted(os.environ))", WORD='a "b" c')
    one.start()
    ended(one)
    names = (tmp_path / "toy.log").read_text()
    assert "'WORD'" in names
    assert "HOME" not in names
    one.stop()


def test_stopping_ends_the_group_the_children_and_who_ran_away(tmp_path: Path) -> None:
    code = (
        "import signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "sleep = [sys.executable, '-c', 'import time; time.sleep(900)']\n"
        "pids = [subprocess.Popen(sleep).pid, subprocess.Popen(sleep, start_new_session=True).pid]\n"
        "print(*pids, flush=True)\n"
        "time.sleep(900)\n"
    )
    one = process(tmp_path, code)
    one.start()
    deadline = time.monotonic() + 60
    while len(words := (tmp_path / "toy.log").read_text().split()) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    one.stop(grace=0.3)
    one.stop(grace=0.3)
    assert one.poll() == -signal.SIGKILL
    for pid in map(int, words):
        assert gone(pid)


def test_stopping_what_was_never_started_does_nothing(tmp_path: Path) -> None:
    process(tmp_path, "").stop()


def test_a_program_that_does_not_exist_is_an_error_with_its_name(tmp_path: Path) -> None:
    one = Process(name="toy", command=["no-such-program"], environment={}, cwd=tmp_path, log=tmp_path / "log")
    with pytest.raises(StackStartError, match="no program 'no-such-program'"):
        one.start()


def test_a_process_does_not_outlive_the_one_that_started_it(tmp_path: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("only Linux tells a process about its parent's death")
    code = (
        "import os, pathlib, time\n"
        "from stackproof.stack.process import Process\n"
        "one = Process(name='toy', command=['sleep', '900'], environment=dict(os.environ),\n"
        "              cwd=pathlib.Path('.'), log=pathlib.Path('log'))\n"
        "one.start()\n"
        "time.sleep(0.5)\n"
        "print(one.pid, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    pid = int(done.stdout)
    assert gone(pid)


def test_a_signal_that_the_caller_ignores_works_in_the_child(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        one = process(tmp_path, "import time; print('up', flush=True); time.sleep(900)")
        one.start()
    finally:
        signal.signal(signal.SIGINT, before)
    deadline = time.monotonic() + 60
    while "up" not in (tmp_path / "toy.log").read_text() and time.monotonic() < deadline:
        time.sleep(0.01)
    one.signal(signal.SIGINT)
    assert ended(one) == -signal.SIGINT
    one.stop()


def test_a_tail_has_the_last_lines_that_hold_anything(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"".join(b"line %d\n\n" % number for number in range(20000)) + b"\xff last")
    assert tail(log, 2) == ("line 19999", "\ufffd last")
    assert tail(tmp_path / "none.log") == ()


def test_an_empty_log_is_said_to_be_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert last_lines(tmp_path / "logs" / "a.log", ()) == "logs/a.log is empty"
    assert last_lines(tmp_path / "a.log", ("x",)) == "last lines of a.log\n  x"
    assert last_lines(Path("/elsewhere/a.log"), ()) == "/elsewhere/a.log is empty"
    assert last_lines(None, ("x",)) == ""


def test_a_page_in_one_line_is_shown_without_its_middle(tmp_path: Path) -> None:
    log = tmp_path / "toy.log"
    log.write_text("short\n" + "first" + "x" * 5000 + "the error\n")
    short, long = tail(log)
    assert short == "short"
    assert long.startswith("firstxxx")
    assert long.endswith("xxxthe error")
    assert " … " in long
    assert len(long) < 500
