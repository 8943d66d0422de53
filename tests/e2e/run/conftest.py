"""A small project with a stack of its own, run by the real command in real processes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

SERVER = """
import http.server, os, subprocess, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response({status})
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *args):
        print(self.path, self.headers.get("X-Stackproof-Probe"), flush=True)

print("starting", flush=True)
{before}
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""

STACK = """
description: a server of the standard library
modes: [server]
command: ["{{python}}", "{file}", "{{port}}"]
under_exec: false
readiness: {{path: /health, status: 200, timeout: {timeout}}}
{more}
"""

SUITES = """
suites:
  base:
    description: tests of the small project
    roots: [tests/integration/base]
    default_setup: local
"""

SETUPS = """
local:
  description: no provider at all
  env: {}
"""


# Plugins of this environment that no test here is about, and that take longer to load than the tests run.
UNUSED = ("anyio", "asyncio", "hypothesispytest", "langsmith_plugin", "recording", "rerunfailures", "xdist.looponfail")

# Whoever runs these tests may have them, CI systems above all; what is said here is not for them.
_OF_OTHERS = ("STACKPROOF_", "PYTEST_", "GITHUB_", "GITLAB_", "CI_", "CIRCLE_", "BUILDKITE_")
_OF_THE_MACHINE = ("CI", "PYTHONPATH", "COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "PY_COLORS", "TTY_COMPATIBLE")


@dataclass(frozen=True, kw_only=True, slots=True)
class Finished:
    """A run that has ended: exit code, everything printed, seconds from the signal (or the start) to the end."""

    code: int
    output: str
    seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """A folder with a stack `toy`, a suite `base` and a setup `local`."""

    root: Path
    environ: dict[str, str] = field(default_factory=dict)

    def stack(self, name: str, *, status: int = 200, before: str = "", timeout: float = 60, more: str = "") -> str:
        """Add a stack; `before` runs in its server before it listens. Returns what --stack-config takes."""
        folder = self.root / "stacks" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "server.py").write_text(SERVER.format(status=status, before=before))
        (folder / "stack.yaml").write_text(STACK.format(file="server.py", timeout=timeout, more=more))
        return f"server:{name}"

    def tests(self, text: str, name: str = "test_it.py") -> None:
        """Write a file of tests into the suite."""
        (self.root / "tests" / "integration" / "base" / name).write_text(text)

    def start(self, *arguments: str, program: tuple[str, ...] = ("-m", "stackproof", "run")) -> subprocess.Popen[str]:
        """Start the command in the project, in a session of its own as a supervisor would."""
        environ = dict(self.environ)
        if not {"-n", "--workers"} & {*arguments}:
            environ["PYTEST_ADDOPTS"] += " -pno:xdist"
        return subprocess.Popen(
            [sys.executable, *program, *arguments],
            cwd=self.root,
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: str, program: tuple[str, ...] = ("-m", "stackproof", "run")) -> Finished:
        """Run the command to its end."""
        began = time.monotonic()
        process = self.start(*arguments, program=program)
        output = finish(process, 300)
        return Finished(code=process.returncode, output=output, seconds=time.monotonic() - began)

    def kill(self, process: subprocess.Popen[str], *pids: int) -> str:
        """Kill `pids` and then `process`, which cannot do anything about their end; what it printed."""
        process.send_signal(signal.SIGSTOP)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        process.kill()
        return self.finish(process)

    def finish(self, process: subprocess.Popen[str], timeout: float = 180.0) -> str:
        """Wait for the end of `process`; what it printed."""
        return finish(process, timeout)

    def wait_for(self, what: str, condition: Callable[[], bool], timeout: float = 120.0) -> None:
        """Wait until `condition` holds."""
        wait_for(what, condition, timeout)

    def run_dir(self) -> Path:
        """The newest run folder."""
        folders = [path for path in (self.root / ".stackproof" / "runs").iterdir() if path.is_dir()]
        return max(folders, key=lambda path: path.stat().st_mtime)

    def cell_dir(self) -> Path:
        """The only cell of the newest run."""
        (cell,) = (self.run_dir() / "cells").iterdir()
        return cell

    def outcome(self) -> Mapping[str, Any]:
        """`outcome.json` of the newest run's cell."""
        content: Mapping[str, Any] = json.loads((self.cell_dir() / "outcome.json").read_text())
        return content

    def left_behind(self) -> list[str]:
        """Commands of processes that carry this project's folder in their environment or command."""
        found = []
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit() or int(folder.name) == os.getpid():
                continue
            try:
                text = (folder / "environ").read_bytes() + (folder / "cmdline").read_bytes()
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if str(self.root).encode() in text and command:
                found.append(command)
        return found


def finish(process: subprocess.Popen[str], timeout: float) -> str:
    """Wait for the end of `process`, killing it when that does not come; what it printed."""
    try:
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate(timeout=60)
        pytest.fail(f"no end within {timeout} s:\n{output}")
    return output


def wait_for(what: str, condition: Callable[[], bool], timeout: float = 120.0) -> None:
    """Wait until `condition` holds."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"{what} did not happen within {timeout} s")
        time.sleep(0.05)


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """A project whose suite has one passing test; whatever it leaves running is a failure of the test."""
    for folder in ("stacks", "tests/integration/base"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "tests" / "suites.yaml").write_text(SUITES)
    (tmp_path / "stacks" / "setups.yaml").write_text(SETUPS)
    (tmp_path / "pyproject.toml").write_text('[tool.stackproof]\nsuite = "base"\nstack_config = "server:toy"\n')
    environ = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(_OF_OTHERS) and name not in _OF_THE_MACHINE
    }
    # A file of tests that is written twice within a second could be read from the bytecode of the first.
    environ.update({"PYTEST_ADDOPTS": " ".join(f"-pno:{name}" for name in UNUSED), "PYTHONDONTWRITEBYTECODE": "1"})
    made = Project(root=tmp_path, environ=environ)
    made.stack("toy")
    made.tests("def test_passes(): pass\n")
    yield made
    if Path("/proc/self").exists():
        wait_for("the end of all processes", lambda: not made.left_behind(), timeout=60)


@pytest.fixture
def begin(project: Project) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts the command as `Project.start` does; what still runs when the test has failed is ended."""
    with contextlib.ExitStack() as undo:

        def start(*arguments: str, program: tuple[str, ...]) -> subprocess.Popen[str]:
            process = project.start(*arguments, program=program)
            undo.callback(process.wait, timeout=120)
            undo.callback(process.terminate)
            return process

        yield start
