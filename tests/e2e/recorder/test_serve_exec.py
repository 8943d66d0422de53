"""`stackproof exec`: what it says when it cannot start, and that what it starts ends with its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stackproof.recorder.mode import Mode
from stackproof.recorder.settings import VARIABLE, Settings


def _settings(folder: Path) -> str:
    return Settings(
        mode=Mode.REPLAY, recordings=str(folder / "r"), setup="s", run_dir=str(folder / "run"), run_id="abcdef"
    ).to_json()


def _exec(folder: Path, *command: str, settings: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("STACKPROOF_")}
    if settings is not None:
        environment[VARIABLE] = settings
    return subprocess.run(
        [sys.executable, "-m", "stackproof", "exec", "--", *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def _one_sentence(ended: subprocess.CompletedProcess[str], *texts: str) -> None:
    assert ended.stdout == ""
    assert "Traceback" not in ended.stderr
    for text in texts:
        assert text in ended.stderr


def test_no_command_is_a_usage_error(tmp_path: Path) -> None:
    ended = _exec(tmp_path, settings=_settings(tmp_path))
    assert ended.returncode == 2
    _one_sentence(ended, "COMMAND")


def test_outside_of_a_run_it_says_what_starts_one(tmp_path: Path) -> None:
    ended = _exec(tmp_path, "true")
    assert ended.returncode == 2
    _one_sentence(ended, "is not set", "stackproof run")


@pytest.mark.parametrize("settings", ["no json", "{}", "[]", '{"mode": "recrod"}'])
def test_settings_that_cannot_be_read_are_a_usage_error(tmp_path: Path, settings: str) -> None:
    ended = _exec(tmp_path, "true", settings=settings)
    assert ended.returncode == 2
    _one_sentence(ended, f"{VARIABLE} cannot be read")


def test_a_command_that_does_not_exist_is_127(tmp_path: Path) -> None:
    ended = _exec(tmp_path, "no-such-command-here", "x", settings=_settings(tmp_path))
    assert ended.returncode == 127
    _one_sentence(ended, "no-such-command-here was not found")


@pytest.mark.parametrize("kind", ["no permission", "a folder", "no program"])
def test_a_command_that_cannot_be_started_is_126(tmp_path: Path, kind: str) -> None:
    command = tmp_path / "command"
    if kind == "a folder":
        command.mkdir()
    else:
        command.write_bytes(b"\x00nothing")
        command.chmod(0o644 if kind == "no permission" else 0o755)
    ended = _exec(tmp_path, str(command), settings=_settings(tmp_path))
    assert ended.returncode == 126
    _one_sentence(ended, "cannot be started")


def test_a_run_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("a file")
    ended = _exec(tmp_path, "true", settings=_settings(tmp_path))
    assert ended.returncode == 126
    _one_sentence(ended, "cannot be started", "run")


def test_the_commands_own_exit_code_and_output_come_through(tmp_path: Path) -> None:
    ended = _exec(tmp_path, "sh", "-c", 'echo "$0 a b"; exit 9', "x  y", settings=_settings(tmp_path))
    assert (ended.returncode, ended.stdout, ended.stderr) == (9, "x  y a b\n", "")


def test_the_pid_stays_and_nothing_of_the_orchestrator_is_on_the_path(tmp_path: Path) -> None:
    program = (
        "import os, sys; print(os.getpid()); print([p for p in sys.path if 'guest' in p][0]); import sitecustomize"
    )
    started = subprocess.Popen(
        [sys.executable, "-m", "stackproof", "exec", "--", sys.executable, "-c", program],
        env={**os.environ, VARIABLE: _settings(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    out, _ = started.communicate(timeout=120)
    pid, folder = out.split()
    assert int(pid) == started.pid
    assert sorted(path.name for path in Path(folder).iterdir() if path.name != "__pycache__") == [
        "sitecustomize.py",
        "stackproof_recorder",
    ]
    assert [path.stem for path in (tmp_path / "run/marks").iterdir()] == [pid]


@pytest.mark.parametrize("version", ["3.10", "3.9", "3.8"])
def test_a_python_that_is_too_old_is_named_instead_of_running_unseen(tmp_path: Path, version: str) -> None:
    old = _python(version)
    if old is None:
        pytest.skip(f"no Python {version} here")
    ended = _exec(tmp_path, str(old), "-c", "print('RAN')", settings=_settings(tmp_path))
    assert ended.returncode == 70
    _one_sentence(ended, f"needs Python 3.11 or newer; {old} is Python {version}")


def test_a_recorder_that_cannot_be_installed_ends_the_command(tmp_path: Path) -> None:
    program = "print('RAN')"
    folder = tmp_path / "site"
    folder.mkdir()
    # Another tool that replaced httpx's transport before anybody else ran, as a .pth file can.
    (folder / "httpx.py").write_text(
        "class HTTPTransport:\n    handle_request = len\nAsyncHTTPTransport = HTTPTransport\n"
    )
    ended = subprocess.run(
        [sys.executable, "-m", "stackproof", "exec", "--", sys.executable, "-c", f"import httpx; {program}"],
        env={**os.environ, VARIABLE: _settings(tmp_path), "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode != 0
    assert "RAN" not in ended.stdout


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux can tie a process to its parent")
def test_what_it_started_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    parent = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-m", "stackproof", "exec", "--", sys.executable, "-c",
                          "import os, time; print(os.getpid(), flush=True); time.sleep(600)"])
time.sleep(600)
"""
    started = subprocess.Popen(
        [sys.executable, "-c", parent],
        env={**os.environ, VARIABLE: _settings(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert started.stdout is not None
    pid = int(started.stdout.readline())
    started.send_signal(signal.SIGKILL)
    started.wait(60)
    deadline = time.monotonic() + 60
    while _runs(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    gone = not _runs(pid)
    if not gone:
        os.kill(pid, signal.SIGKILL)
    started.stdout.close()
    assert gone


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _python(version: str) -> Path | None:
    found = [*Path.home().glob(f".pyenv/versions/{version}.*/bin/python"), Path(f"/usr/bin/python{version}")]
    return next((path for path in found if path.exists()), None)
