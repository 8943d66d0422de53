"""The files that CI systems read, parsed once."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from stackproof.lanes import read
from stackproof.lanes.records import Matrix

PROJECT = Path(__file__).parents[3]
GITHUB = PROJECT / ".github"
# ci.lint is not part of what is installed.
sys.path.insert(0, str(PROJECT))


class _Loader(yaml.SafeLoader):
    """`on` is a word, as GitHub reads it, and no truth value."""


_Loader.yaml_implicit_resolvers = {
    letter: [each for each in found if each[0] != "tag:yaml.org,2002:bool"]
    for letter, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _read(path: Path) -> Any:
    return yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)  # noqa: S506 - a SafeLoader with fewer types


@pytest.fixture(scope="session")
def project() -> Path:
    """The checkout."""
    return PROJECT


@pytest.fixture(scope="session")
def matrix() -> Matrix:
    """ci/matrix.yaml."""
    return read.load(PROJECT)


@pytest.fixture(scope="session")
def texts() -> dict[str, str]:
    """Every file below .github that GitHub runs, by its path there, as text."""
    found = [*GITHUB.glob("workflows/*.yml"), *GITHUB.glob("actions/*/action.yml")]
    return {path.relative_to(GITHUB).as_posix(): path.read_text(encoding="utf-8") for path in sorted(found)}


@pytest.fixture(scope="session")
def workflows() -> dict[str, dict[str, Any]]:
    """Workflows by the name of the file, without `.yml`."""
    return {path.stem: _read(path) for path in sorted(GITHUB.glob("workflows/*.yml"))}


@pytest.fixture(scope="session")
def actions() -> dict[str, dict[str, Any]]:
    """Composite actions by name."""
    return {path.parent.name: _read(path) for path in sorted(GITHUB.glob("actions/*/action.yml"))}


@pytest.fixture(scope="session")
def jobs(workflows: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Every job of every workflow, as `replay/verdict`."""
    return {f"{file}/{name}": job for file, each in workflows.items() for name, job in each["jobs"].items()}


@pytest.fixture(scope="session")
def steps(jobs: dict[str, dict[str, Any]], actions: dict[str, dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """Every step, with the job (`replay/lane`) or the action (`actions/setup`) that it is in."""

    def all_of_them() -> Iterator[tuple[str, dict[str, Any]]]:
        for name, job in jobs.items():
            yield from ((name, step) for step in job["steps"])
        for name, action in actions.items():
            yield from ((f"actions/{name}", step) for step in action["runs"]["steps"])

    return list(all_of_them())


@pytest.fixture(scope="session")
def gitlab() -> dict[str, Any]:
    """.gitlab-ci.yml."""
    found: dict[str, Any] = _read(PROJECT / ".gitlab-ci.yml")
    return found


@pytest.fixture(scope="session")
def gitlab_child() -> dict[str, Any]:
    """What the lanes' pipeline on GitLab has beside the lanes."""
    found: dict[str, Any] = _read(PROJECT / "ci" / "gitlab-verdict.yml")
    return found


@pytest.fixture(scope="session")
def gitlab_verdict(gitlab_child: dict[str, Any]) -> dict[str, Any]:
    """The job that it ends with."""
    found: dict[str, Any] = gitlab_child["verdict"]
    return found
