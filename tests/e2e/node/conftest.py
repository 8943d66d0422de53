"""Node.js and the packages of its stack and its tests; skipped where they cannot be had."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from stackproof import catalog
from stackproof.errors import StackStartError
from stackproof.stack import prepared

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session", name="environment")
def _environment() -> Mapping[str, str]:
    """The caller's, without what belongs to another run."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("STACKPROOF_", "PYTEST_")) and name not in ("CI", "PYTHONPATH")
    }
    # Plugins of this environment that take longer to load than the tests run.
    return {
        **kept,
        "PYTEST_ADDOPTS": "-pno:langsmith_plugin -pno:hypothesispytest -pno:anyio -pno:asyncio -pno:recording",
    }


@pytest.fixture(scope="session", name="node")
def _node() -> str:
    """The program."""
    found = shutil.which("node")
    if found is None or shutil.which("npm") is None:
        pytest.skip("no Node.js with npm here")
    said = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=120, check=True).stdout
    if int(said.strip().lstrip("v").partition(".")[0]) < 20:
        pytest.skip(f"no Node.js 20 here, only {said.strip()}")
    return found


@pytest.fixture(scope="session")
def gateway(node: str, environment: Mapping[str, str]) -> Path:
    """The folder in which the stack's server runs, beside its packages."""
    spec = catalog.load(ROOT).stacks["reference-node"]
    try:
        return prepared.stack(spec, environment=environment).folder
    except StackStartError as error:
        pytest.skip(f"no packages of Node.js here: {error.message}")


@pytest.fixture(scope="session")
def client(node: str, environment: Mapping[str, str]) -> Path:
    """The folder in which vitest's packages are, with a `work` folder whose contents find them."""
    runner = catalog.load(ROOT).suites["client_typescript"].runner
    assert runner is not None
    assert runner.prepare is not None
    try:
        return prepared.make("client_typescript-tests", runner.prepare, runner.folder, environment=environment)
    except StackStartError as error:
        pytest.skip(f"no packages of Node.js here: {error.message}")
