"""The limit for single tests, in a pytest of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TESTS = """
import time, pytest
@pytest.fixture
def slow(): time.sleep(30)
@pytest.fixture
def slow_end():
    yield
    time.sleep(30)
def test_setup(slow): pass
def test_teardown(slow_end): pass
def test_call():
    try:
        time.sleep(30)
    except Exception:
        pass
def test_quick(): pass
"""


def test_each_phase_has_the_limit_and_the_other_tests_go_on(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    options = ["-p", "no:stackproof", "-p", "stackproof.test_limit", "--stackproof-test-timeout", "0.3", "-rA"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "2 passed, 1 failed, 2 errors" in done.stdout or "1 failed, 2 passed, 2 errors" in done.stdout, done.stdout
    for phase in ("set-up", "teardown", "test"):
        assert f"the {phase} took more than 0.3 s" in done.stdout
