"""What must not be skipped, what one worker runs, and how many tests may need a second try.

STACKPROOF_REQUIRE lists words, and a skip whose reason contains one of them is a failure. On a laptop a test may skip
for want of a tool. In CI that would be a hole that nobody sees. STACKPROOF_MAY_SKIP lists words that excuse a skip all
the same.

With `--reruns 1` a test that failed runs once more. One that passes then is no secret: its first failure is printed
whole, it is counted in the last line, and more than a few of them fail the run.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import Any

import pytest

# What has something in common that takes long to make, or counts what is on the machine: one worker runs all of it
# (`--dist loadgroup`), beside others with other tests.
_TOGETHER = (
    "e2e/adoptions/litellm_proxy",
    "e2e/drift/test_changed_provider.py",
    "e2e/drift/test_noise.py",
    "e2e/kubernetes",
    "e2e/live/test_smoke_llama_cpp.py",
    "e2e/live/test_suite_bad_provider.py",
    "e2e/package",
    "e2e/page",
    "e2e/recorder/test_serve_foreign.py",
    "e2e/recordings/test_import_archive.py",
    "e2e/release",
    "e2e/run/docker",
    "e2e/swarm",
    "e2e/test_llama_cpp.py",
    "unit/cli/test_reference_messages.py",
    "unit/file_schemas/test_reference_of_files.py",
    "unit/options/test_reference_pages.py",
    "unit/reference/test_store.py",
)


# A machine that is held up for seconds makes a test fail now and then. Where it is more than that, something is wrong.
_SECOND_TRIES = 3
# Plugins of other packages, which cost each pytest that a test starts a second and are of no use there.
_USELESS = "-pno:langsmith_plugin -pno:hypothesispytest -pno:anyio -pno:asyncio -pno:recording"
# Where one of these is set, tests have to come out as they did before.
_CI = ("CI", "STACKPROOF_REQUIRE")


def pytest_configure(config: pytest.Config) -> None:
    """Have pytest and mypy start faster where tests start them; not where workers of this one do the tests."""
    worker = getattr(config, "workerinput", {}).get("workerid")
    if worker is None and not config.getoption("numprocesses", None):
        worker = "alone"
    if worker is not None:
        os.environ.setdefault("PYTEST_ADDOPTS", _USELESS)
        if config.pluginmanager.hasplugin("cacheprovider"):
            # What a library's types are takes ten seconds to find out. No two write to one place at a time.
            os.environ.setdefault("MYPY_CACHE_DIR", str(config.cache.mkdir(f"mypy-{worker}")))
    if config.pluginmanager.hasplugin("hypothesispytest"):
        _draw_examples()


def _draw_examples() -> None:
    """Have a slow machine be no failure of an example; where CI runs them, they are the same in each run."""
    from hypothesis import HealthCheck, settings

    slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
    settings.register_profile(
        "any machine",
        deadline=None,
        derandomize=not os.environ.keys().isdisjoint(_CI),
        database=None,
        suppress_health_check=slow,
    )
    settings.load_profile("any machine")


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object | None:
    """Give each of them to one worker. By place, since marks for groups do not get through pytest 9.2's node ids."""
    if config.getoption("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):  # type: ignore[misc]
        """Those with the most tests come first."""

        def _split_scope(self, nodeid: str) -> str:
            return next((name for name in _TOGETHER if nodeid.startswith(f"tests/{name}")), nodeid)

    return Together(config, log)


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


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run in which too many tests passed on their second try only."""
    if len(_tried_again(session.config)) > _SECOND_TRIES and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print what was the matter with each test that ran again."""
    again = _tried_again(config)
    for report in again:
        terminalreporter.section(f"failed once, and ran again: {report.nodeid}")
        terminalreporter.write_line(report.longreprtext)
    if len(again) > _SECOND_TRIES:
        terminalreporter.section(f"{len(again)} tests ran again, and at most {_SECOND_TRIES} may", sep="!", red=True)


def _tried_again(config: pytest.Config) -> list[pytest.TestReport]:
    reporter = config.pluginmanager.get_plugin("terminalreporter")  # workers have none
    return [] if reporter is None else reporter.stats.get("rerun", [])
