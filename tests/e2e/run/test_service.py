"""Provider services: installed once into a place of their own, started for real calls, ended with everything else."""

from __future__ import annotations

import hashlib
import threading
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stackproof.catalog.records import ReadinessSpec, ServiceSpec
from stackproof.errors import StackStartError
from stackproof.stack import service

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project

SERVICE = """
description: something that answers
command: ["{python}", "serve.py", "{port}", '{"braces": "stay"}']
readiness: {path: /health, status: 200, timeout: 60}
api_path: /v1
server: toy 1.0
models: {}
"""

SETUPS = """
local:
  description: a provider of our own
  env: {TOY_URL: "http://127.0.0.1:9/v1"}
  providers:
    toy: {variable: TOY_URL}
"""

ASK = """
import os, urllib.request
def test_the_provider_answers():
    assert os.environ["TOY_URL"].endswith("/v1")
    assert not os.environ["TOY_URL"].startswith("http://127.0.0.1:9/")
    assert urllib.request.urlopen(os.environ["TOY_URL"] + "/models", timeout=60).status == 200
"""


@pytest.fixture
def provided(project: Project) -> Project:
    """The small project with a service `brain`, whose requirements are none."""
    folder = project.root / "stacks" / "brain"
    folder.mkdir()
    (folder / "service.yaml").write_text(SERVICE)
    (folder / "serve.py").write_text((project.root / "stacks" / "toy" / "server.py").read_text())
    (project.root / "stacks" / "setups.yaml").write_text(SETUPS)
    project.tests(ASK)
    return project


def test_a_service_is_started_for_live_calls_and_its_url_replaces_the_setups(provided: Project) -> None:
    done = provided.run("--inference-mode", "live", "--provider-service", "brain")
    assert done.code == 0, done.output
    assert "● brain ready in " in done.output
    assert "● toy ready in " in done.output
    assert "/v1/models" in (provided.cell_dir() / "service.log").read_text()
    assert provided.left_behind() == []


def test_when_the_stack_fails_after_the_service_started_both_are_gone_and_the_stack_is_named(provided: Project) -> None:
    provided.stack("toy", before="sys.exit(3)")
    done = provided.run("--inference-mode", "live", "--provider-service", "brain")
    assert done.code == 5, done.output
    assert "✗ toy exited with code 3" in done.output
    assert "● brain ready in " in done.output
    assert provided.left_behind() == []


def test_a_service_that_exits_is_named_with_its_log(provided: Project) -> None:
    (provided.root / "stacks" / "brain" / "serve.py").write_text("print('no weights here'); raise SystemExit(4)")
    done = provided.run("--inference-mode", "live", "--provider-service", "brain")
    assert done.code == 5, done.output
    assert "✗ brain exited with code 4" in done.output
    assert "no weights here" in done.output
    assert not (provided.cell_dir() / "stack.log").exists()


def test_a_replay_starts_no_service(provided: Project) -> None:
    provided.tests("def test_nothing(): pass\n")
    done = provided.run("--provider-service", "brain")
    assert done.code == 0, done.output
    assert not (provided.cell_dir() / "service.log").exists()


def wheel(folder: Path) -> tuple[Path, str]:
    """A package `toyweights` 1.0 without dependencies, and its digest."""
    path = folder / "toyweights-1.0-py3-none-any.whl"
    info = "toyweights-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("toyweights.py", "VALUE = 41\n")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: toyweights\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return path, hashlib.sha256(path.read_bytes()).hexdigest()


def spec(folder: Path, digest: str, path: Path) -> ServiceSpec:
    requirements = folder / "requirements.txt"
    requirements.write_text(f"toyweights @ {path.as_uri()} --hash=sha256:{digest}\n")
    return ServiceSpec(
        name="toy",
        description="",
        folder=folder,
        requirements=requirements,
        command=("{python}", "-c", "import toyweights"),
        readiness=ReadinessSpec(),
        server="toy 1.0",
        source=folder / "service.yaml",
    )


def environ(project: Project) -> dict[str, str]:
    return {**project.environ, "XDG_CACHE_HOME": str(project.root / "cache"), "PYTHONPATH": "/nowhere"}


def nothing() -> None:
    return


def test_requirements_are_installed_once_even_by_two_at_a_time(project: Project) -> None:
    path, digest = wheel(project.root)
    one = spec(project.root, digest, path)
    said: list[str] = []
    found: list[Path] = []

    def install() -> None:
        found.append(service.prepare(one, environment=environ(project), say=said.append, check=nothing))

    threads = [threading.Thread(target=install) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=300)
    assert len(set(found)) == 1, found
    assert len(found) == 2
    assert len(said) == 1
    home = found[0].parents[2]
    assert len([path for path in home.iterdir() if path.name.startswith("venv-")]) == 1
    assert list((home / "venv").glob("lib/*/site-packages/toyweights.py"))


def test_a_wrong_digest_is_refused_with_pips_own_words_and_nothing_stays(project: Project) -> None:
    path, _ = wheel(project.root)
    one = spec(project.root, "0" * 64, path)
    with pytest.raises(StackStartError, match="installing toy failed") as caught:
        service.prepare(one, environment=environ(project), say=lambda _: None, check=nothing)
    assert "HASH" in str(caught.value.hint).upper()
    home = next((project.root / "cache").glob("stackproof/services/toy/*"))
    assert sorted(item.name for item in home.iterdir()) == ["install.log", "lock"]
