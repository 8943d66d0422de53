"""LiteLLM's proxy as somebody's stack: the files of docs/adoptions/litellm.md, and the commands that it shows.

Runs when its environment is in the cache already, or when STACKPROOF_REQUIRE names stacks/litellm: then it is made,
from PyPI.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.e2e.adoptions.conftest import Project, files_of
from tests.e2e.engine_turn import alone

from stackproof.errors import DockerError
from stackproof.stack import engine, service

PAGE = "litellm.md"
STAND_IN = "--provider-service llama-cpp"
# Keys of the caller's own, as where real providers are asked.
KEYS = "OPENAI_API_KEY=sk-proj-of-nobody-0123456789 ANTHROPIC_API_KEY=sk-ant-of-nobody-0123456789"
WORD = "stacks/litellm"
REQUIREMENTS = "stacks/litellm/requirements.txt"
PINNED = Path(__file__).with_name("pinned.txt")
OPENAI = "tests/integration/proxy/test_openai.py"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The project of the page, recorded against llama.cpp and committed."""
    required = WORD in os.environ.get("STACKPROOF_REQUIRE", "").split()
    cache = service.cache_folder(os.environ)
    if not required and not list(cache.parent.glob(f"{WORD}/*/venv/bin/python")):
        pytest.skip(f"{WORD} is not in the cache; STACKPROOF_REQUIRE={WORD} fetches and runs it")
    if not required and not (cache / "llama-cpp").exists():
        pytest.skip("llama-cpp is not in the cache; STACKPROOF_REQUIRE=llama-cpp fetches and runs it")
    project = Project(root=tmp_path_factory.mktemp("gateway"))
    for name, text in files_of(PAGE).items():
        project.write(name, text)
    # A release of any of the hundred packages below LiteLLM is no news of ours.
    project.write(REQUIREMENTS, files_of(PAGE)[REQUIREMENTS] + PINNED.read_text(encoding="utf-8"))
    project.write(".gitignore", "__pycache__/\n")
    assert project.type("git init --quiet").code == 0
    recorded = project.type(f"stackproof run {STAND_IN} --inference-mode record")
    assert recorded.has("14 passed, 2 skipped", "0 missed, 0 unused", "18 files written", "PASS")
    assert recorded.code == 0
    project.commit()
    return project


def test_calls_belong_to_the_tests_that_caused_them(gateway: Project) -> None:
    owners: dict[str, set[str]] = {}
    for path in (gateway.root / "recordings").rglob("*.json"):
        recording = json.loads(path.read_text(encoding="utf-8"))
        owners.setdefault(recording["scope"], set()).add(recording["request"]["path"])
    # What the proxy asks when it starts, whoever is tested.
    assert owners.pop("stack") == {"/models"}
    assert all(scope.startswith("tests/integration/proxy/") for scope in owners)
    assert set().union(*owners.values()) == {"/chat/completions", "/responses", "/embeddings", "/v1/messages"}


def test_the_same_recordings_answer_in_a_container(gateway: Project) -> None:
    base = os.environ.get("STACKPROOF_DOCKER_BASE")
    try:
        engine.connect(os.environ).close()
    except DockerError as error:
        pytest.skip(f"needs docker: {error.message}")
    if not base:
        pytest.skip("needs docker and a base image with Python in STACKPROOF_DOCKER_BASE")
    gateway.change("stacks/litellm/stack.yaml", "dockerfile: Dockerfile\n", f"dockerfile: Dockerfile\n  base: {base}\n")
    with alone():
        ran = gateway.type("stackproof run --strict --stack-config docker:litellm")
    gateway.change("stacks/litellm/stack.yaml", f"  base: {base}\n", "")
    assert ran.has("16 passed", " replayed, 0 recorded, 0 missed, 0 unused, 3 faults injected; sealed", "PASS")
    assert ran.code == 0


def test_a_miss_is_told_and_mended_and_the_verdict_is_green(gateway: Project) -> None:
    gateway.change(OPENAI, "a cat", "a lion")
    gateway.commit()
    missed = gateway.type("stackproof verify-release")
    assert missed.code != 0
    assert missed.has('recorded "a cat"   sent "a lion"', "1 missed", "(stackproof policy update)")
    (command,) = {line.partition("record it: ")[2] for line in missed.text.splitlines() if "record it: " in line}
    # Which tests there have to be is taken from a whole run.
    assert gateway.type("stackproof policy update").has("proxy-providers-server-litellm: 16 tests")
    # What was recorded for the old question goes with it: `record` replaces what its test has.
    mended = gateway.type(f"env {KEYS} {command.removesuffix('-if-missing')} {STAND_IN}")
    assert mended.has("1 file written, 1 removed", "PASS")
    assert gateway.type("stackproof policy update").has("ran only what --file and --pattern picked")
    assert not _holding(gateway.root / "recordings", b"of-nobody-0123456789", b"sk-for-tests-only")
    assert not _holding(gateway.root / ".stackproof", b"of-nobody-0123456789")
    gateway.commit()
    green = gateway.type("stackproof verify-release")
    # How often it asks for models at its start is a matter of time: once, or once for each that it serves.
    assert green.has("16 passed", " calls replayed, 0 missed, 0 unused", "RELEASE VERDICT  PASS")
    assert green.code == 0
    assert [line for line in gateway.never_typed(PAGE) if "docker:" not in line] == []


def _holding(folder: Path, *secrets: bytes) -> list[str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return [path.name for path in files if any(secret in path.read_bytes() for secret in secrets)]
