"""What must not be skipped, and what one worker runs.

STACKPROOF_REQUIRE lists words, and a skip whose reason contains one of them is a failure. On a laptop a test may skip
for want of a tool. In CI that would be a hole that nobody sees. STACKPROOF_MAY_SKIP lists words that excuse a skip all
the same.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest

_HERE = Path(__file__).parent
# What has something in common that takes long to make, or counts what is on the machine: one worker runs all of it
# (`--dist loadgroup`), beside others with other tests.
_TOGETHER = (
    "e2e/live",
    "e2e/page",
    "e2e/recorder/test_serve_foreign.py",
    "e2e/recordings/test_import_archive.py",
    "e2e/release",
    "e2e/run/docker",
    "e2e/test_llama_cpp.py",
    "unit/reference/test_store.py",
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give each of them to one worker, where there are workers."""
    if not config.pluginmanager.hasplugin("xdist"):
        return
    for item in items:
        for name in _TOGETHER:
            if item.path.is_relative_to(_HERE / name):
                item.add_marker(pytest.mark.xdist_group(name))


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
