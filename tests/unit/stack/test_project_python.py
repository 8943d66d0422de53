"""Which Python tests run with, where Stackproof is in an environment of its own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from stackproof.errors import UsageError
from stackproof.stack import project_python


def python(folder: Path, version: str = "3.12.4") -> Path:
    """An environment whose Python says that it is of a version."""
    path = folder / "bin" / "python"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho {version}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This Python as one that `uv tool install` has made."""
    prefix = tmp_path / "tools" / "stackproof"
    prefix.mkdir(parents=True)
    (prefix / "uv-receipt.toml").touch()
    monkeypatch.setattr(sys, "prefix", str(prefix))
    return prefix


@pytest.fixture
def said() -> list[str]:
    return []


def test_it_is_ours_where_we_are_installed_beside_the_project(tmp_path: Path, said: list[str]) -> None:
    python(tmp_path / ".venv")
    assert project_python.choose(None, tmp_path, environment={}, say=said.append) == Path(sys.executable)
    assert said == []


def test_a_tools_environment_takes_the_projects(tmp_path: Path, tool: Path, said: list[str]) -> None:
    own = python(tmp_path / ".venv")
    assert project_python.choose(None, tmp_path, environment={}, say=said.append) == own
    assert said == ["tests run with .venv/bin/python (the project's .venv); Stackproof itself was installed by uv tool"]


def test_an_active_environment_comes_first(tmp_path: Path, tool: Path) -> None:
    python(tmp_path / ".venv")
    active = python(tmp_path / "active")
    given = {"VIRTUAL_ENV": str(active.parents[1])}
    assert project_python.choose(None, tmp_path, environment=given) == active
    # An environment that is active and gone says nothing.
    given = {"VIRTUAL_ENV": str(tmp_path / "gone")}
    assert project_python.choose(None, tmp_path, environment=given) == tmp_path / ".venv" / "bin" / "python"


def test_without_any_it_is_said(tmp_path: Path, tool: Path, said: list[str]) -> None:
    assert project_python.choose(None, tmp_path, environment={}, say=said.append) == Path(sys.executable)
    assert said[0].startswith("tests run with Stackproof's own Python, which uv tool made: no package of the project")
    assert "--python PATH" in said[0]


@pytest.mark.parametrize("given", ["env", "env/bin/python", "{folder}/env", "named"])
def test_one_may_be_named_by_folder_program_or_name(tmp_path: Path, given: str) -> None:
    made = python(tmp_path / "env")
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "named").symlink_to(made)
    found = project_python.choose(given.format(folder=tmp_path), tmp_path, environment={"PATH": str(tmp_path / "path")})
    assert found.resolve() == made


@pytest.mark.parametrize(
    ("version", "sentence"),
    [
        ("3.10.2", "--python names env, which is Python 3.10.2; Stackproof's plugin needs 3.11 or newer in the tests"),
        ("nonsense", "--python names env, which is no Python that runs"),
    ],
)
def test_one_that_cannot_be_used_is_refused(tmp_path: Path, version: str, sentence: str) -> None:
    python(tmp_path / "env", version)
    with pytest.raises(UsageError) as caught:
        project_python.choose("env", tmp_path, environment={})
    assert caught.value.message == sentence
    assert "STACKPROOF_PYTHON" in (caught.value.hint or "")


def test_what_made_an_environment_is_known_by_what_it_left(tmp_path: Path) -> None:
    (tmp_path / "pipx").mkdir()
    (tmp_path / "pipx" / "pipx_metadata.json").touch()
    (tmp_path / "archive-v0" / "K6s3").mkdir(parents=True)
    (tmp_path / "archive-v0" / "K6s3" / "pyvenv.cfg").touch()
    assert project_python.installed_by(tmp_path / "pipx") == "pipx"
    assert project_python.installed_by(tmp_path / "archive-v0" / "K6s3") == "uvx"
    assert project_python.installed_by(tmp_path) is None
