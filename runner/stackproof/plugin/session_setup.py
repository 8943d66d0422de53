"""What a test spent on fixtures of the whole session: whichever test comes first pays for them, in every shard anew."""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any

import pytest

_SECONDS = "stackproof_session_setup"


class SessionSetup:
    """Hooks that measure it, in the process that runs the tests; the report takes it to the one that writes."""

    def __init__(self) -> None:
        self._depth = 0
        self._seconds = 0.0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        """The outermost counts: those that it asks for are within its time."""
        if fixturedef.scope != "session":
            return (yield)
        self._depth += 1
        began = time.perf_counter()
        try:
            return (yield)
        finally:
            self._depth -= 1
            if not self._depth:
                self._seconds += time.perf_counter() - began

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """With the phase in which it was."""
        report = yield
        if self._seconds:
            setattr(report, _SECONDS, self._seconds)
            self._seconds = 0.0
        return report


def seconds(report: pytest.TestReport) -> float:
    """What a phase of a test spent on them."""
    value = getattr(report, _SECONDS, 0.0)
    return value if isinstance(value, float) else 0.0
