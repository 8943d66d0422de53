"""Reports as the installed pytest and its plugins write them: none may look inconsistent."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stackproof.evidence import junit

TESTS = """
import pytest, warnings
tries = []
@pytest.fixture
def bad_teardown():
    yield
    raise RuntimeError("teardown")
@pytest.fixture
def bad_setup():
    raise RuntimeError("setup")
def test_pass(): pass
def test_fail(): assert 0
def test_setup_error(bad_setup): pass
def test_teardown_error(bad_teardown): pass
def test_both(bad_teardown): assert 0
def test_skip(): pytest.skip("why")
def test_skip_and_teardown(bad_teardown): pytest.skip("why")
@pytest.mark.xfail(reason="known")
def test_xfail(): assert 0
@pytest.mark.xfail(reason="known", strict=False)
def test_xpass(): pass
@pytest.mark.xfail(reason="known", strict=True)
def test_strict_xpass(): pass
def test_wavers(tmp_path_factory):
    mark = tmp_path_factory.getbasetemp().parent / "second-try"
    if not mark.exists():
        mark.write_text("")
        assert 0
def test_property(record_property): record_property("k", "v")
"""


@pytest.mark.parametrize("arguments", [[], ["--reruns", "1"], ["-n", "2"], ["-n", "2", "--reruns", "1"], ["-x"]])
@pytest.mark.parametrize("family", ["xunit1", "xunit2"])
def test_a_report_of_pytest_is_consistent(tmp_path: Path, arguments: list[str], family: str) -> None:
    (tmp_path / "test_x.py").write_text(TESTS)
    command = [
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts=",
        "-p", "xdist.plugin", "-p", "pytest_rerunfailures",
        "-o", f"junit_family={family}", "--junitxml=junit.xml", f"--basetemp={tmp_path}/base/here", *arguments,
    ]  # fmt: skip
    (tmp_path / "base").mkdir()
    # Loading every other plugin of this environment takes longer than all the tests.
    environ = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 1, done.stdout + done.stderr
    found = junit.read(tmp_path / "junit.xml")
    assert [problem.text for problem in found.problems] == []
    outcomes = {case.name: case.outcome.value for case in found.cases}
    if "-x" in arguments:
        assert outcomes == {"test_pass": "passed", "test_fail": "failed"}
        return
    assert outcomes == {
        "test_pass": "passed",
        "test_fail": "failed",
        "test_setup_error": "error",
        "test_teardown_error": "error",
        "test_both": "error",
        "test_skip": "skipped",
        "test_skip_and_teardown": "error",
        "test_xfail": "xfailed",
        "test_xpass": "passed",
        "test_strict_xpass": "failed",
        "test_wavers": "passed" if "--reruns" in arguments else "failed",
        "test_property": "passed",
    }
