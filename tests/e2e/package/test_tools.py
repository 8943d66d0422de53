"""Stackproof in an environment of its own, by uvx, `uv tool` and pipx, and a project that has another one."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e.package.conftest import LIMIT, LOCKED, Built, Shop, plain, program, pyenv

REPLAYED = "provider calls: 1 replayed, 0 recorded, 0 missed, 0 unused"


@pytest.fixture
def with_own(foreign: Shop) -> Shop:
    """A project whose environment has what its tests import, no pytest, and nothing of Stackproof."""
    uv, folder = program("uv"), foreign.root / ".venv"
    for command in (
        [uv, "venv", "--quiet", "--python", str(pyenv("3.12")), str(folder)],
        [uv, "pip", "install", "--quiet", "--python", str(folder / "bin" / "python"), "-c", str(LOCKED), "requests"],
    ):
        subprocess.run(command, capture_output=True, timeout=LIMIT, check=True)
    tests = (foreign.root / "tests/integration/base/test_shop.py").read_text()
    foreign.write({"tests/integration/base/test_shop.py": f"import sys\nassert sys.prefix == {str(folder)!r}\n{tests}"})
    return foreign


def uvx(built: Built, folder: Path) -> tuple[str, ...]:
    python = str(pyenv("3.13"))
    return (program("uvx"), "--quiet", "--python", python, "-c", str(LOCKED), "--from", str(built.wheel), "stackproof")


def uv_tool(built: Built, folder: Path) -> tuple[str, ...]:
    environ = plain(os.environ) | {"UV_TOOL_DIR": str(folder / "tools"), "UV_TOOL_BIN_DIR": str(folder / "bin")}
    command = [program("uv"), "tool", "install", "--quiet", "--python", str(pyenv("3.11")), "-c", str(LOCKED)]
    subprocess.run([*command, str(built.wheel)], env=environ, capture_output=True, timeout=LIMIT, check=True)
    return (str(folder / "bin" / "stackproof"),)


def pipx(built: Built, folder: Path) -> tuple[str, ...]:
    given = (f"PIPX_HOME={folder}", f"PIP_CONSTRAINT={LOCKED}", f"UV_CONSTRAINT={LOCKED}")
    return ("env", *given, program("pipx"), "run", "--spec", str(built.wheel), "stackproof")


@pytest.mark.parametrize("tool", [uvx, uv_tool, pipx], ids=["uvx", "uv tool", "pipx"])
def test_tests_run_in_the_projects_environment(
    built: Built, with_own: Shop, tmp_path: Path, tool: Callable[[Built, Path], tuple[str, ...]]
) -> None:
    done = with_own.run("run", "--setup", "plain", program=tool(built, tmp_path / "tools"))
    assert "tests run with .venv/bin/python (the project's .venv); Stackproof itself was installed by " in done.stdout
    assert REPLAYED in done.stdout
    assert "PASS" in done.stdout
