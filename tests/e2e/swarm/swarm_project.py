"""A small project whose tests run as shards on a swarm, by the real command."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.run.conftest import SUITES, Finished, Project, finish
from tests.e2e.swarm.swarm_engines import COUNT, SwarmEngines

from stackproof.swarm import image_delivery

STACK = """
description: a library whose tests need nothing but pytest
modes: [library]
app: toy_app:create
python_path: ["."]
docker: {dockerfile: Dockerfile, tests: requirements.txt, context: [toy_app.py], python: /venv/bin/python}
"""
DOCKERFILE = """
ARG BASE
FROM ${BASE}
COPY wheels /wheels
COPY requirements.txt /wheels/
RUN python3 -m venv /venv && /venv/bin/pip install --no-index --find-links=/wheels -r /wheels/requirements.txt
"""
SETUPS = {
    "local": {"description": "no provider at all", "env": {"TOKEN": ""}},
    "keyed": {"description": "a provider with a key", "env": {}, "secrets": ["TOY_API_KEY"]},
}
TESTS = """
import time
import pytest

@pytest.mark.parametrize("number", range({number}))
def test_it(number):
    time.sleep({seconds})
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class SwarmProject:
    """Runs in a project against a swarm; the image that its shards need is on all nodes after the first one."""

    project: Project
    engines: SwarmEngines

    @property
    def root(self) -> Path:
        """Its folder."""
        return self.project.root

    def sleeping(self, number: int, seconds: float) -> None:
        """So many tests in place of those that there are, each of so many seconds."""
        self.project.tests(TESTS.format(number=number, seconds=seconds))

    def start(self, *arguments: str, shards: int = 3) -> subprocess.Popen[str]:
        """`stackproof run --engine swarm` in the project."""
        command = ("--engine", "swarm", "--shards", str(shards), "--stack-config", "library:toy", *arguments)
        return self.project.start(*command)

    def run(self, *arguments: str, shards: int = 3) -> Finished:
        """The same, to its end."""
        process = self.start(*arguments, shards=shards)
        output = finish(process, 480)
        return Finished(code=process.returncode, output=output, seconds=0.0)

    def shards(self) -> dict[str, Path]:
        """The folders of the shards whose evidence has come, of the newest run, by `3of8`."""
        return {path.name.rpartition(".")[2]: path for path in sorted(self.project.run_dir().glob("cells/*"))}

    def told(self) -> Mapping[str, Any]:
        """`swarm.json` of the newest run."""
        content: Mapping[str, Any] = json.loads((self.project.run_dir() / "swarm.json").read_text())
        return content

    def ran(self) -> list[str]:
        """Every test that has a result, once for each."""
        found: list[str] = []
        for folder in self.shards().values():
            events = [json.loads(line) for line in (folder / "tests.jsonl").read_text().splitlines()]
            found += {event["nodeid"] for event in events if event.get("event") == "test" and event.get("outcome")}
        return sorted(found)


def made(project: Project, engines: SwarmEngines) -> SwarmProject:
    """Turn a small project into one whose tests can run on a swarm."""
    folder = project.root / "stacks" / "toy"
    for name, text in {
        "stack.yaml": STACK,
        "Dockerfile": DOCKERFILE,
        "toy_app.py": "def create(): return None\n",
        "requirements.txt": "# what the tests of this stack need beside Stackproof: nothing\n",
    }.items():
        (folder / name).write_text(text)
    (folder / "server.py").unlink(missing_ok=True)
    (project.root / "tests" / "suites.yaml").write_text(SUITES)
    (project.root / "stacks" / "setups.yaml").write_text(json.dumps(SETUPS))
    others = ",".join(engines.address(number) for number in range(2, COUNT + 1))
    project.environ.update(
        DOCKER_HOST=engines.address(1), STACKPROOF_DOCKER_BASE=engines.base, **{image_delivery.ENGINES: others}
    )
    return SwarmProject(project=project, engines=engines)
