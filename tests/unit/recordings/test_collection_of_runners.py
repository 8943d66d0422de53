"""Suites of other runners are never collected, and do not keep pytest's from being."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stackproof import catalog
from stackproof.recordings.collection import Collected, collect

SUITES = """
suites:
  base: {description: d, roots: [tests/integration/base], default_setup: local}
  ts:
    description: d
    roots: [tests/integration/ts]
    default_setup: local
    runner: {name: vitest, folder: tests/integration/ts, command: [vitest, "{junit}"]}
"""
STACK = "description: d\nmodes: [server]\ncommand: [sleep]\nunder_exec: false\n"
FILES = {
    "tests/suites.yaml": SUITES,
    "tests/integration/base/test_a.py": "def test_one(): pass\n",
    "tests/integration/ts/a.test.ts": "",
    "stacks/setups.yaml": "local: {description: d, env: {}}\n",
    "stacks/toy/stack.yaml": STACK,
}


@pytest.fixture(name="project")
def _project(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def collected(project: Path, *suites: str) -> Collected:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("STACKPROOF_", "PYTEST_"))}
    return collect(project, catalog.load(project), environ, suites=suites, setup="local", stack="server:toy")


def test_of_another_runner_nothing_is_known(project: Path) -> None:
    assert collected(project, "ts") == Collected()


def test_beside_it_pytests_tests_are_collected(project: Path) -> None:
    found = collected(project, "base", "ts")
    assert found.tests == {"tests/integration/base/test_a.py::test_one"}
    assert found.lacks("tests/integration/base/test_a.py::test_two")
    assert not found.lacks("tests/integration/ts/a.test.ts::gone")
