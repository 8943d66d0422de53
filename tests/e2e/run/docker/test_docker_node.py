"""A stack whose folder is prepared first, in a container: a small one, and the one on Node.js with its edge."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stackproof.stack import built
from stackproof.stack.engine import Engine

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project

ROOT = Path(__file__).parents[4]
BASE = "STACKPROOF_DOCKER_BASE_REFERENCE_NODE"
ASK = """
import os, urllib.request

def test_it_says_what_was_made():
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(os.environ["STACKPROOF_API_BASE_URL"] + "/made", timeout=60) as answer:
        assert answer.read() == b"good words"
"""
MORE = """
        if self.path == "/made":
            body = open("made", "rb").read().strip()
"""
DOCKERFILE = "ARG BASE\nFROM ${BASE}\nCOPY prepared /stack\nCOPY stack /stack\nWORKDIR /stack\n"


@pytest.mark.usefixtures("fresh")
def test_what_was_prepared_is_in_the_image(project: Project, contained: Callable[..., str]) -> None:
    stack = contained("toy", more=MORE, dockerfile=DOCKERFILE)
    folder = project.root / "stacks" / "toy"
    (folder / "words").write_text("good words\n")
    with (folder / "stack.yaml").open("a") as file:
        file.write("prepare: {command: [sh, -c, 'cat words > made'], files: [words]}\n")
    project.environ["XDG_CACHE_HOME"] = str(project.root / "cache")
    project.tests(ASK)
    first = project.run("--stack-config", stack)
    assert first.code == 0, first.output
    assert "building stackproof/toy:" in first.output
    again = project.run("--stack-config", stack)
    assert again.code == 0, again.output
    assert "building" not in again.output
    # What it was prepared from is part of the image's name.
    (folder / "words").write_text("other words\n")
    changed = project.run("--stack-config", stack)
    assert changed.code == 1, changed.output
    assert "building stackproof/toy:" in changed.output


@pytest.fixture
def images(engine: Engine) -> Iterator[None]:
    """Removes what the test has built of these."""
    names = ("reference-node", "edge")
    before = {item.name for name in names for item in built.of(engine, name)}
    yield
    made = (item for name in names for item in built.of(engine, name) if item.name not in before)
    built.remove(engine, tuple(made))


@pytest.mark.parametrize(("suite", "calls"), [("messages", 19), ("client_typescript", 16)])
def test_the_stack_on_node_replays_in_a_container(engine: Engine, images: None, suite: str, calls: int) -> None:
    base = os.environ.get(BASE, "")
    if not base or engine.image(base) is None or shutil.which("npm") is None:
        pytest.skip(f"needs docker with a base image with Node.js in {BASE}, and npm here")
    kept = ("STACKPROOF_DOCKER_BASE", BASE)
    done = subprocess.run(
        [
            sys.executable, "-m", "stackproof", "run", "--json", "--suite", suite, "--setup", "ollama",
            "--stack-config", "docker:reference-node",
        ],
        cwd=ROOT,
        env={
            **{
                name: value
                for name, value in os.environ.items()
                if name in kept
                or (not name.startswith(("STACKPROOF_", "PYTEST_")) and name not in ("CI", "PYTHONPATH"))
            },
            "PYTEST_ADDOPTS": "-pno:langsmith_plugin -pno:hypothesispytest",
        },
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (cell,) = json.loads(done.stdout)["cells"]
    assert cell["result"]["calls"]["replayed"] == calls
    assert cell["result"]["calls"]["missed"] == 0
    assert cell["sealed"] == "namespace"
    edge = Path(cell["folder"], "edge.json")
    assert json.loads(edge.read_text())["ids"] == "forwarded"
