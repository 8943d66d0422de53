"""What must not be skipped: STACKPROOF_REQUIRE lists words, and a skip whose reason contains one of them is a failure.

On a laptop a test may skip for want of a tool. In CI that would be a hole that nobody sees. STACKPROOF_MAY_SKIP lists
words that excuse a skip all the same.
"""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip for want of something that is required into a failure."""
    report = yield
    if not hasattr(report, "wasxfail"):
        _required(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for a module that skips itself: none of its tests is ever seen."""
    report = yield
    _required(report)
    return report


def _required(report: pytest.TestReport | pytest.CollectReport) -> None:
    if not report.skipped or not isinstance(report.longrepr, tuple):
        return
    reason = report.longrepr[2]
    excused = any(word in reason for word in os.environ.get("STACKPROOF_MAY_SKIP", "").split())
    missing = [word for word in os.environ.get("STACKPROOF_REQUIRE", "").split() if word in reason]
    if missing and not excused:
        report.outcome = "failed"
        report.longrepr = f"STACKPROOF_REQUIRE names {', '.join(missing)}, yet this was skipped: {reason}"
