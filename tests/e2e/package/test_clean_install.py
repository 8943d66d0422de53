"""The wheel in an environment with nothing else in it, in somebody else's project."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e.package.conftest import LIMIT, LOCKED, Built, Shop, program, pyenv


@pytest.fixture(scope="session")
def installed(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Makes an environment for a version of Python, with the wheel in it; gives its Python."""
    uv, made = program("uv"), dict[str, Path]()

    def make(version: str) -> Path:
        if version not in made:
            python, folder = pyenv(version), tmp_path_factory.mktemp("clean") / "venv"
            inside = folder / "bin" / "python"
            for command in (
                [uv, "venv", "--quiet", "--python", str(python), str(folder)],
                [uv, "pip", "install", "--quiet", "--python", str(inside), "-c", str(LOCKED), str(built.wheel)],
            ):
                done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
                assert done.returncode == 0, done.stderr
            made[version] = inside
        return made[version]

    return make


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_it_replays_what_was_recorded_elsewhere(installed: Callable[[str], Path], foreign: Shop, version: str) -> None:
    python = installed(version)
    command = (str(python.with_name("stackproof")),)
    assert foreign.run("--version", program=command).stdout.startswith("stackproof ")
    done = foreign.run("run", "--setup", "plain", program=command)
    assert "provider calls: 1 replayed, 0 recorded, 0 missed, 0 unused" in done.stdout
    assert "PASS  base × plain × server:shop" in done.stdout
    # The stack is started by `stackproof exec`: its process has left a mark, which the recorder makes.
    assert list(foreign.root.glob(".stackproof/runs/*/cells/*/marks/*.json"))


def test_what_is_built_in_is_there_and_its_other_ways_in_work(installed: Callable[[str], Path], foreign: Shop) -> None:
    python = installed("3.13")
    module = (str(python), "-m", "stackproof")
    setups = json.loads(foreign.run("setups", "--json", program=module).stdout)["setups"]
    assert {"gpt", "ollama", "company"} <= {item["name"] for item in setups}
    planned = foreign.run("run", "--stack-config", "server:reference", "--setup", "ollama", "--dry-run", program=module)
    assert "server:reference" in planned.stdout
    page = Path(foreign.run("docs", "faults", "--path", program=module).stdout.strip())
    assert page.is_relative_to(python.parents[1])
    assert page.read_text(encoding="utf-8").startswith("# Faults on the wire\n")
    # pytest by itself, with the plugin in it once.
    alone = foreign.run(
        "--trace-config", "-q", program=(str(python), "-m", "pytest"), environ={"STACKPROOF_SETUP": "plain"}
    )
    assert "1 passed" in alone.stdout
    assert alone.stdout.count("pytest_plugin.py") == 1


def test_a_release_gets_its_page(installed: Callable[[str], Path], foreign: Shop) -> None:
    foreign.write({"ci/release.yaml": 'version: 1\ncells:\n  - {suite: base, setup: plain, stack: "server:shop"}\n'})
    module = (str(installed("3.13")), "-m", "stackproof")
    done = foreign.run("verify-release", program=module, code=7)
    assert "base × plain × server:shop" in done.stdout
    (page,) = foreign.root.glob(".stackproof/runs/*/verdict.html")
    assert "</html>" in page.read_text()
