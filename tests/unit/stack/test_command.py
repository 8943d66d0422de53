"""A command of stack.yaml names what only a run knows, and programs that were installed beside its Python."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from stackproof.recorder.mode import Mode
from stackproof.recorder.settings import VARIABLE, Settings
from stackproof.stack import enter
from stackproof.stack.command import beside, completed

SETTINGS = Settings(
    mode=Mode.REPLAY,
    recordings="/srv/shop/recordings",
    setup="s",
    run_dir="/srv/runs/a",
    run_id="a",
    project="/srv/shop",
)


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """A virtual environment with a server installed; its Python."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "pyvenv.cfg").touch()
    for name in ("python", "serve"):
        (tmp_path / "bin" / name).touch(mode=0o755)
    return tmp_path / "bin" / "python"


def test_folders_of_the_run_are_filled_in_as_in_env() -> None:
    found = completed(
        ["{python}", "--config={project}/config.yaml", "{folder}/own.yaml", "{run_dir}", "{host}:{port}", '{"a": {x}}'],
        python="/py",
        host="127.0.0.1",
        port=4000,
        folder="/srv/shop/stacks/shop",
        variables={VARIABLE: SETTINGS.to_json()},
    )
    assert found == [
        "/py",
        "--config=/srv/shop/config.yaml",
        "/srv/shop/stacks/shop/own.yaml",
        "/srv/runs/a",
        "127.0.0.1:4000",
        '{"a": {x}}',
    ]


def test_a_program_of_the_environment_is_found_without_activating_it(environment: Path) -> None:
    assert beside(environment, ["serve", "--port", "1"]) == [str(environment.parent / "serve"), "--port", "1"]


@pytest.mark.parametrize("program", ["sh", "./serve", "/opt/serve"])
def test_other_programs_are_looked_for_as_ever(environment: Path, program: str) -> None:
    assert beside(environment, [program]) == [program]


def test_a_python_that_is_no_environment_shadows_nothing(environment: Path) -> None:
    (environment.parent.parent / "pyvenv.cfg").unlink()
    assert beside(environment, ["serve"]) == ["serve"]


def test_in_a_container_it_is_the_same(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(environment))
    assert enter._installed("serve") == str(environment.parent / "serve")
    assert enter._installed("./serve") == "./serve"
    assert enter._installed("sh") == "sh"
