"""What `python -m ci.ogx_suite` is made of, without OGX: its project of links, what it reads, the table."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stackproof import catalog

ROOT = Path(__file__).parents[3]


@pytest.fixture
def suite(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The package, which is not part of what is installed."""
    monkeypatch.syspath_prepend(str(ROOT))
    import ci.ogx_suite
    import ci.ogx_suite.left_behind
    import ci.ogx_suite.measured
    import ci.ogx_suite.page
    import ci.ogx_suite.project
    import ci.ogx_suite.what

    return ci.ogx_suite


def _checkout(folder: Path) -> Path:
    for name in ("conftest.py", "scripts/a.sh", "src/ogx.py", "tests/integration/test_a.py", "tests/common/mcp.py"):
        path = folder / "checkout" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return folder / "checkout"


def test_the_project_is_links_beside_our_files_and_making_it_again_harms_nothing(suite: Any, tmp_path: Path) -> None:
    checkout = _checkout(tmp_path)
    before = sorted((path, path.is_symlink()) for path in checkout.rglob("*"))
    for _ in range(2):
        made = suite.project.make(tmp_path / "project", checkout=checkout)
        assert (made / "tests/suites.yaml").is_file()
        assert (made / "tests/integration").resolve() == checkout / "tests/integration"
        assert (made / "scripts").is_symlink()
    assert sorted((path, path.is_symlink()) for path in checkout.rglob("*")) == before


def test_its_files_are_a_catalog_and_every_suite_is_in_it(suite: Any) -> None:
    found = catalog.load(ROOT / "ci/ogx_suite/project")
    assert set(found.suites) == {one.name for one in suite.what.SUITES}
    assert {one.default_setup for one in found.suites.values()} == {suite.project.SETUP}
    assert found.stacks["ogx-ci"].header == "X-OGX-Provider-Data"
    assert sum(one.expected for one in suite.what.SUITES) == 324


def test_a_run_is_measured_by_its_junit_file_and_its_marks(suite: Any, tmp_path: Path) -> None:
    program = """
import os, pathlib, sys, time
pathlib.Path(sys.argv[1], "junit.xml").write_text(
    '<testsuites><testsuite><testcase classname="a" name="ok"/>'
    '<testcase classname="a" name="bad"><failure message="no">E   no</failure></testcase>'
    '<testcase classname="a" name="not"><skipped message="s"/></testcase></testsuite></testsuites>')
pathlib.Path(sys.argv[1], "first_test").write_text(str(time.time()))
pathlib.Path(sys.argv[1], "sockets").write_text("7 socket.connect example.com\\n8 socket.connect example.com\\n")
sys.exit(3)
"""
    run = suite.measured.command(
        [sys.executable, "-c", program, str(tmp_path)],
        suite="messages", side="ours", cwd=tmp_path, environment=dict(os.environ), folder=tmp_path,
    )  # fmt: skip
    assert (run.code, run.count("passed"), run.count("failure"), run.count("skipped")) == (3, 1, 1, 1)
    assert run.reasons["a::bad"] == "no\nE   no"
    assert run.sockets == {"socket.connect example.com": 2}
    assert run.first_test is not None
    assert 0 <= run.first_test <= run.seconds
    other = suite.measured.Measured(suite="messages", side="theirs", code=0, seconds=1.0, first_test=None)
    text = suite.page.text(suite.what.SUITES, [other, run])
    assert "| messages | 13 | ours | 1 | 1 | 0 | 1 |" in text
    assert "- messages: `a::ok`: theirs not there, ours passed" in text


def test_a_command_that_hangs_is_ended(suite: Any, tmp_path: Path) -> None:
    run = suite.measured.command(
        [sys.executable, "-c", "import time; time.sleep(600)"],
        suite="messages", side="theirs", cwd=tmp_path, environment={}, folder=tmp_path, timeout=0.5,
    )  # fmt: skip
    assert run.code is None
    assert run.tests == {}


def test_only_marked_processes_are_ended(suite: Any, tmp_path: Path) -> None:
    sleeping = [sys.executable, "-c", "import time; time.sleep(600)"]
    mine = subprocess.Popen(sleeping, env={suite.left_behind.MARK: str(tmp_path)})
    other = subprocess.Popen(sleeping, env={suite.left_behind.MARK: "another"})
    try:
        assert suite.left_behind.servers(str(tmp_path)) == []
        suite.left_behind.end(str(tmp_path))
        assert mine.wait(timeout=60) != 0
        assert other.poll() is None
    finally:
        for process in (mine, other):
            process.kill()
            process.wait()
