"""The fixture `live_model`, in a pytest of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TEST = "def test_a_real_call(live_model):\n    assert live_model.title in ('openai/a', 'openai/b')\n"
ASKED = {"STACKPROOF_LIVE_MODEL": "openai/a,openai/b", "OPENAI_API_KEY": "a-key-that-nobody-may-see"}

# Plugins of this environment that take longer to load than the tests run.
_QUICK = {"PYTEST_ADDOPTS": "-pno:langsmith_plugin -pno:hypothesispytest"}


def run(folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    (folder / "tests").mkdir()
    (folder / "tests/suites.yaml").write_text("suites: {}\n")
    (folder / "tests/test_live.py").write_text(TEST)
    clean = {name: value for name, value in os.environ.items() if not name.endswith(("_KEY", "_LIVE_MODEL", "_URL"))}
    command = [sys.executable, "-m", "pytest", "-rs", "-v", "-p", "no:cacheprovider", "--rootdir=.", "tests"]
    return subprocess.run(
        command,
        cwd=folder,
        env={**clean, **_QUICK, **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_without_the_variables_the_test_is_skipped_and_says_what_is_missing(tmp_path: Path) -> None:
    done = run(tmp_path, OPENAI_API_KEY="a-key-that-nobody-may-see")
    assert done.returncode == 0
    assert "a real call needs OPENAI_API_KEY and STACKPROOF_LIVE_MODEL; missing: STACKPROOF_LIVE_MODEL" in " ".join(
        done.stdout.split()
    )


def test_with_both_it_runs_once_for_each_model(tmp_path: Path) -> None:
    done = run(tmp_path, **ASKED)
    assert done.returncode == 0, done.stdout
    assert "test_a_real_call[openai/a] PASSED" in done.stdout
    assert "test_a_real_call[openai/b] PASSED" in done.stdout
    assert ASKED["OPENAI_API_KEY"] not in done.stdout


def test_a_slip_of_the_pen_is_no_skip(tmp_path: Path) -> None:
    done = run(tmp_path, **{**ASKED, "STACKPROOF_LIVE_MODEL": "gpt-5"})
    assert done.returncode not in (0, 5)
    assert "STACKPROOF_LIVE_MODEL: 'gpt-5' is not written provider/model" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert pytest.ExitCode(done.returncode) in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERRUPTED)
