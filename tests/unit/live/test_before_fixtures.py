"""A test that is not to make its real call is skipped before anything is set up for it, and named without a model."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TEST = """
import pytest


@pytest.fixture(scope="session")
def costly():
    raise AssertionError("a stack was started")


@pytest.mark.parametrize("n", [1, 2])
def test_a_real_call(costly, live_model, n):
    pass


def test_by_name(request):
    assert request.getfixturevalue("live_model").title == "openai/a"
"""

# Plugins of this environment that take longer to load than the tests run.
_QUICK = {"PYTEST_ADDOPTS": "-pno:langsmith_plugin -pno:hypothesispytest"}


def run(folder: Path, **variables: str) -> str:
    (folder / "tests").mkdir()
    (folder / "tests/suites.yaml").write_text("suites: {}\n")
    (folder / "tests/test_live.py").write_text(TEST)
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.endswith(("_KEY", "_LIVE_MODEL", "_URL")) and not name.startswith(("PYTEST_", "STACKPROOF_"))
    }
    command = [sys.executable, "-m", "pytest", "-rs", "-v", "-p", "no:cacheprovider", "--rootdir=.", "tests"]
    done = subprocess.run(
        command,
        cwd=folder,
        env={**clean, **_QUICK, **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return " ".join(done.stdout.split())


def test_nothing_is_set_up_where_nothing_is_to_be_called(tmp_path: Path) -> None:
    said = run(tmp_path)
    assert "a stack was started" not in said
    assert "3 skipped" in said
    assert "a real call needs OPENAI_API_KEY and STACKPROOF_LIVE_MODEL; missing" in said


def test_one_model_is_in_no_name_beside_other_parameters(tmp_path: Path) -> None:
    said = run(tmp_path, OPENAI_API_KEY="a-key-that-nobody-may-see", STACKPROOF_LIVE_MODEL="openai/a")
    assert "test_a_real_call[1] ERROR" in said  # its other fixture is set up by then
    assert "test_by_name PASSED" in said
    assert "openai/a]" not in said
