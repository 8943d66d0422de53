"""The workflows that `init` writes, by the linters that their owners may have."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from stackproof.cli.main import main
from stackproof.errors import ExitCode

Repository = Callable[[Mapping[str, str]], Path]

APP = "from fastapi import FastAPI\nimport openai\napp = FastAPI()\n"
PROJECTS = {
    "pip": {"requirements.txt": "fastapi\n", "requirements-dev.txt": "pytest\n", "requirements-docs.txt": "sphinx\n"},
    "an extra": {"pyproject.toml": "[project]\nname = 'x'\noptional-dependencies = {test = ['pytest']}\n"},
    "uv": {"uv.lock": "", "pyproject.toml": "[project]\nname = 'x'\nrequires-python = '>=3.12'\n"},
    "poetry": {"pyproject.toml": "[tool.poetry]\nname = 'x'\n"},
    "pdm": {"pdm.lock": "", "pyproject.toml": "[project]\nname = 'x'\n"},
    "nothing": {},
    "a name for a shell": {"requirements.txt": "", "requirements dev.txt": ""},
}


def program(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def written(root: Path, ci: str) -> None:
    requirement = "stackproof @ git+https://example.com/stackproof.git@0123abc"
    words = ["init", "--yes", "--ci", ci, "--requirement", requirement]
    assert main(words, environ={}, project=root) == ExitCode.PASS


def passes(root: Path, *command: str) -> None:
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_workflows_for_github_are_in_order_for_their_linters(repository: Repository, tmp_path: Path) -> None:
    folder = tmp_path / "all/.github/workflows"
    folder.mkdir(parents=True)
    for number, files in enumerate(PROJECTS.values()):
        part = tmp_path / f"{number}"
        part.mkdir()
        root = repository({"main.py": APP, **files}).rename(part / "repo")
        written(root, "github")
        shutil.copy(root / ".github/workflows/stackproof.yml", folder / f"{number}.yml")
    names = sorted(path.name for path in folder.iterdir())
    assert len(names) == len(PROJECTS)
    passes(folder, program("actionlint"), *names)
    passes(folder, program("zizmor"), "--offline", "--quiet", "--persona", "auditor", *names)


@pytest.mark.parametrize("files", [PROJECTS["pip"], PROJECTS["uv"]], ids=["pip", "uv"])
def test_a_pipeline_for_gitlab_is_one_by_its_schema(repository: Repository, files: dict[str, str]) -> None:
    if importlib.util.find_spec("check_jsonschema") is None:
        pytest.skip("check-jsonschema is not installed")
    root = repository({"main.py": APP, **files})
    written(root, "gitlab")
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.gitlab-ci"]
    passes(root, *check, ".gitlab-ci.yml")


def test_what_is_installed_is_what_the_project_says(repository: Repository) -> None:
    root = repository({"main.py": APP, **PROJECTS["pip"]})
    written(root, "github")
    text = (root / ".github/workflows/stackproof.yml").read_text()
    one = text.index("python -m pip install -r requirements.txt\n")
    assert one < text.index("python -m pip install -r requirements-dev.txt\n")
    assert "requirements-docs" not in text
    assert "python -m pip install 'stackproof @ git+https://example.com/stackproof.git@0123abc' httpx2\n" in text


@pytest.mark.parametrize(
    ("says", "python"),
    [(">=3.12", "3.12"), (">=3.9", "3.11"), ("^3.13", "3.13"), ("~=3.11.2", "3.11"), ("3.12", "3.12")],
)
def test_python_is_the_oldest_that_both_run_on(repository: Repository, says: str, python: str) -> None:
    root = repository({"main.py": APP, "pyproject.toml": f"[project]\nname = 'x'\nrequires-python = '{says}'\n"})
    written(root, "github")
    assert f'python-version: "{python}"' in (root / ".github/workflows/stackproof.yml").read_text()
