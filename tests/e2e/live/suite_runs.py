"""A project that has the suite `live` and its recordings, and runs in it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.e2e.live.smoking import environment

PROJECT = Path(__file__).resolve().parents[3]
SUITES = """root: tests/integration
suites:
  live: {description: real calls, roots: [tests/live], default_setup: llama-cpp}
"""
_SECONDS = 540.0


def project(folder: Path) -> Path:
    """A copy of the suite and of its recordings."""
    shutil.copytree(PROJECT / "tests/live", folder / "tests/live", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "tests/suites.yaml").write_text(SUITES)
    for recorded in PROJECT.glob("recordings/*/live"):
        shutil.copytree(recorded, folder / recorded.relative_to(PROJECT))
    return folder


def ran(
    folder: Path, *arguments: str, setup: str, mode: str = "verify", **variables: str
) -> subprocess.CompletedProcess[str]:
    """`stackproof run` of the suite in library mode, on a wide screen."""
    command = ["-m", "stackproof", "run", "--suite", "live", "--setup", setup, "--inference-mode", mode]
    return _done(folder, *command, "--stack-config", "library:reference", *arguments, **variables)


def pytest_alone(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """pytest without a run around it."""
    return _done(folder, "-m", "pytest", "-p", "no:cacheprovider", *arguments, **variables)


def _done(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    # tests/live reads the stack's own modules; a project that has it among its packages needs no path.
    path = {"PYTHONPATH": str(PROJECT / "stacks/reference"), "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment(**path, **variables),
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
