"""Coverage of a stack in a container: measured there, and told by the paths of this machine."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project

SERVER = "stacks/toy/server.py"
MORE = """
        if self.path == "/asked":
            body = b"it was"
        if self.path == "/never":
            body = b"it was not"
"""
ASKS = """
import os, urllib.request

def test_asks():
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(os.environ["STACKPROOF_API_BASE_URL"] + "/asked", timeout=60) as answer:
        assert answer.read() == b"it was"
"""


def line_of(server: Path, text: str) -> int:
    """The number of the line that holds `text`."""
    return next(number for number, line in enumerate(server.read_text().splitlines(), 1) if text in line)


@pytest.fixture
def measured(project: Project, contained: Callable[..., str]) -> Callable[..., str]:
    """Adds a stack whose image holds coverage, without anything being installed in it."""

    def add(name: str, *, vendored: bool = True, more: str = "") -> str:
        config = contained(name, more=MORE)
        folder = project.root / "stacks" / name
        spec = util.find_spec("coverage")
        assert spec is not None
        assert spec.origin is not None
        (folder / "vendored").mkdir()
        if vendored:
            ignored = shutil.ignore_patterns("__pycache__", "htmlfiles")
            shutil.copytree(Path(spec.origin).parent, folder / "vendored" / "coverage", ignore=ignored)
        path = folder / "stack.yaml"
        text = path.read_text().replace("context: [server.py]", f"context: [server.py, vendored]{more}")
        path.write_text(text + 'python_path: ["vendored"]\n')
        project.tests(ASKS)
        return config

    return add


def test_what_ran_in_a_container_is_told_by_the_paths_of_the_project(
    project: Project, measured: Callable[..., str]
) -> None:
    ended = project.run("--stack-config", measured("toy", more=", shared: true"), "--coverage", SERVER)

    assert ended.code == 0, ended.output
    assert "from 1 process of stacks in 1 cell" in ended.output
    files = json.loads((project.run_dir() / "coverage" / "coverage.json").read_text())["files"]
    assert list(files) == [SERVER]
    server, facts = project.root / SERVER, files[SERVER]
    assert line_of(server, 'b"it was"') in facts["executed_lines"]
    assert line_of(server, 'b"it was not"') in facts["missing_lines"]


@pytest.mark.usefixtures("far")
def test_it_comes_out_of_a_container_that_sees_no_folder_of_this_machine(
    project: Project, measured: Callable[..., str]
) -> None:
    ended = project.run("--stack-config", measured("toy"), "--coverage", SERVER)

    assert ended.code == 0, ended.output
    assert "from 1 process of stacks in 1 cell" in ended.output
    files = json.loads((project.run_dir() / "coverage" / "coverage.json").read_text())["files"]
    assert list(files) == [SERVER]


def test_an_image_without_the_package_is_named_before_a_test_runs(
    project: Project, measured: Callable[..., str]
) -> None:
    ended = project.run("--stack-config", measured("toy", vendored=False), "--coverage")

    assert ended.code == 2, ended.output
    assert "--coverage needs the package coverage in" in ended.output
    assert "of the container of 'toy', which lacks it" in ended.output
    assert not (project.cell_dir() / "junit.xml").exists()
