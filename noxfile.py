"""Sessions for people and CI. There is no logic here: each is one `python -m …` with the arguments behind `--`.

The child's exit code becomes nox's own (nox would make it 1), and SIGINT, SIGTERM and SIGHUP are handed to the child,
which gets all the time it needs to tear down (nox would kill it after 0.3 s, or die and leave it behind).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import nox

nox.options.sessions = ["lint", "typecheck", "tests"]
# Every session installs what is locked anyway; making its environment anew would only cost time.
nox.options.reuse_venv = "yes"

_HANDED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@nox.session
def tests(session: nox.Session) -> None:
    """Unit and end-to-end tests of Stackproof itself."""
    _run(session, "dev,sdks", ["pytest"])


@nox.session
def lint(session: nox.Session) -> None:
    """Rules and format, and what CI runs: workflows, actions, pipelines and scripts."""
    _run(session, "dev", ["ruff", "check", "."], ["ruff", "format", "--check", "."], ["ci.lint"])


@nox.session
def typecheck(session: nox.Session) -> None:
    """Strict types, with the number of checked files as evidence."""
    _run(session, "dev", ["stackproof", "typecheck"])


@nox.session
def integration(session: nox.Session) -> None:
    """Test suites against a stack: nox -s integration -- --setup ollama --stack-config server:reference."""
    _run(session, "reference", ["stackproof", "run"])


@nox.session
def benchmark(session: nox.Session) -> None:
    """Offline turns, measured on this machine; with `-- --full` all that docs/benchmarks.md shows."""
    _run(session, "benchmark", ["stackproof", "benchmark"])


@nox.session
def live_smoke(session: nox.Session) -> None:
    """A few real calls of each model, where two variables ask for them: nox -s live_smoke -- --setup gpt."""
    _run(session, "reference", ["stackproof", "smoke"])


@nox.session
def verify_release(session: nox.Session) -> None:
    """Everything the release policy lists, and one verdict."""
    _run(session, "dev", ["stackproof", "verify-release"])


@nox.session
def lane(session: nox.Session) -> None:
    """One job of CI, all of it: nox -s lane -- NAME; `stackproof lane list` has the names."""
    _run(session, "dev", ["stackproof", "lane", "run"])


def _run(session: nox.Session, extra: str, *modules: list[str]) -> None:
    """Install the project with `extra`, run each module with the arguments behind `--`, end as the first bad one."""
    if session.venv_backend != "none":
        session.install("-e", f".[{extra}]", "-c", "constraints.txt")
    for module in modules:
        if code := _hand_over(session, [*module, *session.posargs]):
            raise SystemExit(code)


def _hand_over(session: nox.Session, arguments: list[str]) -> int:
    """Run `python -m ARGUMENTS` of the session, hand signals on, wait for its end; its exit code."""
    python, path = sys.executable, os.environ.get("PATH", "")
    if session.venv_backend != "none" and session.bin is not None:
        python, path = str(Path(session.bin) / "python"), os.pathsep.join([session.bin, path])
    environment = {**os.environ, **{name: value for name, value in session.env.items() if value is not None}}
    received: list[int] = []
    before = {signum: signal.signal(signum, lambda number, _: received.append(number)) for signum in _HANDED_ON}
    try:
        # A session of its own: the terminal's Ctrl-C reaches nox alone, and the child gets it from here, once.
        child = subprocess.Popen([python, "-m", *arguments], env={**environment, "PATH": path}, start_new_session=True)
        while child.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                child.wait(timeout=0.1)
            while received:
                child.send_signal(received.pop(0))
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
    return 128 - child.returncode if child.returncode < 0 else child.returncode
