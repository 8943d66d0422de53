"""A pytest plugin for `--timeout`: a limit for each test's set-up, call and teardown.

The main thread is interrupted by SIGALRM, so the test fails where it hangs, with a traceback, and the others go on. One
that hangs where no signal gets through (in C code that holds on) ends its process some seconds later, with the
tracebacks of all threads.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

_AIR = 10.0


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the limit from the command line, which xdist hands to its workers too."""
    parser.addoption("--stackproof-test-timeout", type=float, default=None, help="limit for a single test, in seconds")


def pytest_configure(config: pytest.Config) -> None:
    """Watch this process's tests when there is a limit."""
    seconds = config.getoption("--stackproof-test-timeout")
    if seconds:
        config.pluginmanager.register(TestLimit(float(seconds)), "stackproof-test-limit-watch")


class TestLimit:
    """Fails a test that takes longer than `seconds` in one of its phases."""

    __test__ = False

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        # pytest's capture will replace the descriptor that is standard error now; a dump has to reach the log.
        self._dump = None if sys.__stderr__ is None else os.dup(sys.__stderr__.fileno())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self) -> Generator[None, Any, Any]:
        """Limit the set-up."""
        with self._limited("set-up"):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None, Any, Any]:
        """Limit the test itself."""
        with self._limited("test"):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self) -> Generator[None, Any, Any]:
        """Limit the teardown."""
        with self._limited("teardown"):
            return (yield)

    @contextmanager
    def _limited(self, phase: str) -> Generator[None, None, None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def too_late(_signum: int, _frame: FrameType | None) -> None:
            pytest.fail(f"the {phase} took more than {self._seconds:g} s (--timeout)")

        before = signal.signal(signal.SIGALRM, too_late)
        signal.setitimer(signal.ITIMER_REAL, self._seconds)
        if self._dump is not None:
            faulthandler.dump_traceback_later(self._seconds + _AIR, exit=True, file=self._dump)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            faulthandler.cancel_dump_traceback_later()
