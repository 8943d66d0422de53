"""Runs pytest over the tests of a cell, with a deadline and an orderly way to stop it."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from stackproof.options import RunOptions
from stackproof.plaintext import number
from stackproof.run.interrupts import Interrupts
from stackproof.stack.process import Process

# Seconds that pytest gets to tear fixtures down and write its report after it was asked to stop.
STOP_WITHIN = 30.0
_STEP = 0.05

# Arguments with which pytest talks to the terminal by itself.
_INTERACTIVE = frozenset({"-s", "--capture=no", "--pdb", "--trace"})


@dataclass(frozen=True, kw_only=True, slots=True)
class SuiteEnd:
    """How pytest ended: `code` as `subprocess` gives it. timed_out: the suite's deadline passed."""

    code: int
    timed_out: bool = False
    killed: bool = False


def talks(options: RunOptions) -> bool:
    """Whether pytest writes to the terminal itself, and may read from it. With --json nothing else is printed there."""
    if options.json:
        return False
    return options.verbose or options.collect_only or bool(_INTERACTIVE.intersection(options.pytest_args))


def arguments(
    options: RunOptions,
    paths: Sequence[str],
    *,
    project: Path,
    cell_dir: Path,
    python: Path | None = None,
    warnings: Sequence[str] = (),
) -> list[str]:
    """The command line of pytest; what the caller gave behind `--` comes last and wins. python: None is ours.

    warnings: filters that come before those of the project's configuration.

    Node ids are always relative to the project: a pytest configuration further up would make them longer, and every
    recording belong to another test.
    """
    command = [str(python or sys.executable), "-m", "pytest", "-p", "stackproof"]
    command.append(f"--rootdir={project}")
    command += [f"--junitxml={cell_dir / 'junit.xml'}", "-o", "junit_family=xunit2"]
    command += [word for text in warnings for word in ("-W", text)]
    if options.pattern is not None:
        command += ["-k", options.pattern]
    if options.workers is not None:
        command += ["-n", options.workers]
    if options.test_timeout is not None:
        command += [f"--timeout={number(options.test_timeout)}", "-o", "timeout_method=signal"]
    if options.collect_only:
        command += ["--collect-only", "-q"]
    if options.verbose:
        command.append("-v")
    return [*command, *paths, *options.pytest_args]


def process(command: Sequence[str], *, environment: Mapping[str, str], project: Path, log: Path | None) -> Process:
    """pytest as a process of this machine, not started yet. log: None lets it use our terminal."""
    return Process(
        name="pytest", command=command, environment=environment, cwd=project, log=log, interactive=log is None
    )


class Runs(Protocol):
    """pytest as it runs: a process of this machine, or a container."""

    def start(self) -> None:
        """Start it."""

    def poll(self) -> int | None:
        """Exit code as `subprocess` gives it, or None while it runs."""

    def signal(self, signum: int) -> None:
        """Send it a signal."""

    def stop(self, grace: float = ...) -> None:
        """End it and whatever it left running."""


def run(
    process: Runs, *, timeout: float, interrupts: Interrupts, meanwhile: Callable[[], None] = lambda: None
) -> SuiteEnd:
    """Run pytest until it ends, `timeout` seconds have passed, or somebody asks us to stop.

    To stop, it gets SIGINT once: pytest then tears down and writes its report. After 30 s, or at a second request, it
    is killed. Whatever it left running is ended too. meanwhile: called every 0.05 s.
    """
    deadline = time.monotonic() + timeout
    timed_out = False
    stop_until: float | None = None
    killed = False
    try:
        interrupts.check()
        process.start()
        while (code := process.poll()) is None:
            now = time.monotonic()
            if stop_until is None and (interrupts.first is not None or now >= deadline):
                timed_out = interrupts.first is None
                stop_until = now + STOP_WITHIN
                process.signal(signal.SIGINT)
            elif stop_until is not None and (now >= stop_until or interrupts.count > 1) and not killed:
                killed = True
                process.stop(grace=0)
            meanwhile()
            time.sleep(_STEP)
    finally:
        process.stop()
    return SuiteEnd(code=code, timed_out=timed_out, killed=killed)
