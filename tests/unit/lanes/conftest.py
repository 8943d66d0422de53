"""A small project with a release policy and a file of lanes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from stackproof import catalog
from stackproof.catalog.records import Catalog
from stackproof.cli.main import main
from stackproof.lanes.read import load
from stackproof.lanes.records import Matrix

FILES: Mapping[str, str] = {
    "ci/release.yaml": """\
version: 1
cells:
  - {suite: desk, setup: local, stack: "library:desk"}
  - {suite: desk, setup: local, stack: "server:desk"}
  - {suite: desk, setup: local, stack: "docker:desk", required: where-available}
typecheck: {paths: [desk]}
""",
    "stacks/desk/stack.yaml": """\
description: a desk
modes: [library, server, docker]
app: desk:app
command: ["{python}", "-m", "desk"]
docker: {image: "desk:1"}
""",
    "stacks/young/stack.yaml": """\
description: a stack that needs a newer Python
modes: [library]
app: young:app
python: {version: ">=3.12"}
""",
    "stacks/setups.yaml": """\
local: {description: a provider on this machine, env: {DESK_URL: "http://127.0.0.1:9/v1"}}
far: {description: a provider elsewhere, secrets: [FAR_API_KEY], env: {FAR_URL: "https://far.example/v1"}}
""",
    "tests/suites.yaml": """\
suites:
  desk: {description: what must work, roots: [tests/integration/desk], default_setup: local}
  live: {description: real calls, roots: [tests/integration/desk], default_setup: local}
""",
    "tests/integration/desk/test_desk.py": "def test_it():\n    assert True\n",
    "ci/matrix.yaml": """\
version: 1
lanes:
  python:
    description: without containers
    triggers: [pull_request, merge_group]
    cells: {release: {stacks: ["library:*", "server:desk"]}}
  docker:
    description: in containers
    triggers: [pull_request, merge_group]
    cells: {release: {stacks: ["docker:desk"]}}
    needs: [docker]
  checks:
    description: beside the cells
    triggers: [pull_request, merge_group]
    checks: [types, recordings]
  far:
    description: real calls
    triggers: [schedule, workflow_dispatch]
    schedule: "17 5 * * 1"
    smoke: {setups: [far], budget: {requests: 5}}
    secrets: [FAR_API_KEY]
    variables: [STACKPROOF_LIVE_MODEL]
    environment: live
""",
}


@dataclass(kw_only=True)
class Desk:
    """The project in `folder`."""

    folder: Path
    environ: dict[str, str] = field(default_factory=dict)

    def write(self, name: str, text: str) -> None:
        """Write a file of it."""
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text, encoding="utf-8")

    def lanes(self, text: str) -> None:
        """Make `text` the lanes, each indented by two."""
        self.write("ci/matrix.yaml", f"version: 1\nlanes:\n{text}")

    def load(self) -> Matrix:
        """What the file says."""
        return load(self.folder)

    @property
    def catalog(self) -> Catalog:
        """What can be named."""
        return catalog.load(self.folder)

    def command(self, *arguments: str) -> int:
        """A command in it, its exit code."""
        return main(arguments, environ=self.environ, project=self.folder)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """The project."""
    made = Desk(folder=tmp_path)
    for name, text in FILES.items():
        made.write(name, text)
    return made
