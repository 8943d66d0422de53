"""A small repository with workflows, and its rehearsal in a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
# The package is not part of what is installed.
sys.path.insert(0, str(ROOT))
_WHO = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Somebody"), ("EMAIL", "somebody@example.invalid"))
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Rehearsed:
    """code: the exit code. told: standard output as JSON, where it is. errors: standard error."""

    code: int
    told: dict[str, Any]
    errors: str

    @property
    def results(self) -> dict[str, str]:
        """How each job ended."""
        return {leg["name"]: leg["result"] for run in self.told.get("workflows", ()) for leg in run["jobs"]}

    @property
    def findings(self) -> list[str]:
        """What was found, with its line."""
        return [f"{one['line']}: {one['text']}" for one in self.told.get("findings", ())]

    def why(self, name: str) -> str:
        """Why a job ended as it did."""
        return str(
            next(leg["why"] for run in self.told.get("workflows", ()) for leg in run["jobs"] if leg["name"] == name)
        )


def git(folder: Path, *words: str) -> str:
    """git in a folder, as nobody in particular."""
    environment = {**os.environ, **_WHO, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(["git", *words], cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def rehearsed(project: Path, scratch: Path, *words: str, extra: Mapping[str, str] | None = None) -> Rehearsed:
    """`python -m ci.rehearsal --json` of a repository."""
    for program in ("git", "bash", "jq"):
        if shutil.which(program) is None:
            pytest.skip(f"a rehearsal needs {program}")
    scratch.mkdir(exist_ok=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "CI"))}
    done = subprocess.run(
        [sys.executable, "-m", "ci.rehearsal", "--json", "--project", str(project), *words],
        cwd=ROOT,
        env={**environment, "TMPDIR": str(scratch), **(extra or {})},
        capture_output=True,
        text=True,
        timeout=840,
        check=False,
    )
    assert list(scratch.iterdir()) == [], "something is left behind"
    told = json.loads(done.stdout) if done.stdout else {}
    return Rehearsed(code=done.returncode, told=told, errors=done.stderr)


@pytest.fixture
def rehearse(tmp_path: Path) -> Callable[..., Rehearsed]:
    """Rehearse files of a new repository: `rehearse({"w.yml": text}, "--event", "push")`."""
    project = tmp_path / "project"

    def run(files: Mapping[str, str], *words: str, extra: Mapping[str, str] | None = None) -> Rehearsed:
        if not project.exists():
            project.mkdir()
            git(project, "init", "--quiet", "--initial-branch", "main")
        for name, text in files.items():
            path = project / (name if "/" in name or name.startswith(".") else f".github/workflows/{name}")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        git(project, "add", "--all")
        git(project, "commit", "--quiet", "--allow-empty", "--message", "A commit")
        return rehearsed(project, tmp_path / "scratch", *words, extra=extra)

    return run


@pytest.fixture
def rehearsed_at() -> Callable[..., Rehearsed]:
    """Rehearse a repository that is there: `rehearsed_at(project, scratch, "--list")`."""
    return rehearsed


@pytest.fixture
def rehearsed_git() -> Callable[..., str]:
    """git in a folder."""
    return git
