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
    required = os.environ.get("STACKPROOF_REQUIRE", "").split()
    if report.skipped and not hasattr(report, "wasxfail") and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2]
        excused = any(word in reason for word in os.environ.get("STACKPROOF_MAY_SKIP", "").split())
        missing = [] if excused else [word for word in required if word in reason]
        if missing:
            report.outcome = "failed"
            report.longrepr = f"STACKPROOF_REQUIRE names {', '.join(missing)}, yet this test was skipped: {reason}"
    return report
