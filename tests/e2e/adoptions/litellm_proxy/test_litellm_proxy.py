"""LiteLLM's proxy as somebody's stack: the files of docs/adoptions/litellm.md, and the commands that it shows.

Runs when its environment is in the cache already, or when STACKPROOF_REQUIRE names stacks/litellm: then it is made,
from PyPI.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from tests.e2e.adoptions.conftest import Project
from tests.e2e.run.docker.conftest import _alone

from stackproof.errors import DockerError
from stackproof.stack import engine, service

PAGE = Path(__file__).parents[4] / "docs/adoptions/litellm.md"
STAND_IN = "--provider-service llama-cpp"
WORD = "stacks/litellm"
_FILE = re.compile(r"^`([\w./-]+)`[^\n]*\n(?:[^\n`]+\n)*\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPENAI = "tests/integration/proxy/test_openai.py"


def page_files() -> dict[str, str]:
    """The files that the page gives whole."""
    return dict(_FILE.findall(PAGE.read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The project of the page, committed, and recorded against llama.cpp."""
    required = WORD in os.environ.get("STACKPROOF_REQUIRE", "").split()
    made = list(service.cache_folder(os.environ).parent.glob(f"{WORD}/*/venv/bin/python"))
    if not required and not made:
        pytest.skip(f"{WORD} is not in the cache; STACKPROOF_REQUIRE={WORD} fetches and runs it")
    if not service.cache_folder(os.environ).joinpath("llama-cpp").exists() and not required:
        pytest.skip("llama-cpp is not in the cache; STACKPROOF_REQUIRE=llama-cpp fetches and runs it")
    project = Project(root=tmp_path_factory.mktemp("gateway"))
    for name, text in page_files().items():
        project.write(name, text)
    project.write(".gitignore", "__pycache__/\n")
    assert project.type("git init --quiet").code == 0
    # A key of the caller's own, as where real providers are asked.
    keys = "OPENAI_API_KEY=sk-proj-of-nobody-0123456789 ANTHROPIC_API_KEY=sk-ant-of-nobody-0123456789"
    recorded = project.type(f"env {keys} stackproof run {STAND_IN} --inference-mode record")
    assert recorded.has("14 passed, 2 skipped", "0 missed, 0 unused", "18 files written", "PASS")
    assert recorded.code == 0
    project.commit()
    return project


def test_no_key_is_in_recordings_or_in_what_the_run_left(gateway: Project) -> None:
    folders = (gateway.root / "recordings", gateway.root / ".stackproof")
    texts = [path.read_bytes() for folder in folders for path in folder.rglob("*") if path.is_file()]
    assert texts
    assert not [text for text in texts if b"of-nobody-0123456789" in text]
    assert not [path for path in folders[0].rglob("*.json") if b"sk-for-tests-only" in path.read_bytes()]


def test_calls_belong_to_the_tests_that_caused_them(gateway: Project) -> None:
    owners: dict[str, set[str]] = {}
    for path in (gateway.root / "recordings").rglob("*.json"):
        recording = json.loads(path.read_text(encoding="utf-8"))
        owners.setdefault(recording["scope"], set()).add(recording["request"]["path"])
    # What the proxy asks when it starts, whoever is tested.
    assert owners.pop("stack") == {"/models"}
    assert all(scope.startswith("tests/integration/proxy/") for scope in owners)
    # The model that is gone was asked first.
    (gone,) = [scope for scope in owners if scope.endswith("falls_back")]
    assert owners[gone] == {"/chat/completions"}
    paths = set().union(*owners.values())
    assert paths >= {"/chat/completions", "/embeddings", "/v1/messages"}


def test_a_miss_is_told_and_mended_and_the_verdict_is_green(gateway: Project) -> None:
    gateway.change(OPENAI, "a cat", "a lion")
    gateway.commit()
    missed = gateway.type("stackproof verify-release")
    assert missed.code != 0
    assert missed.has('recorded "a cat"   sent "a lion"', "1 missed", "(stackproof policy update)")
    (command,) = {line.partition("record it: ")[2] for line in missed.text.splitlines() if "record it: " in line}
    # What was recorded for the old question goes with it: `record` replaces what its test has.
    mended = gateway.type(f"{command.removesuffix('-if-missing')} {STAND_IN}")
    assert mended.has("1 file written, 1 removed", "PASS")
    (run, *_) = re.findall(r"Evidence (\S+)", missed.text)
    assert gateway.type("stackproof policy update").has("ran only what --file and --pattern picked")
    assert gateway.type(f"stackproof policy update {run}").has("proxy-providers-server-litellm: 16 tests")
    gateway.commit()
    green = gateway.type("stackproof verify-release")
    # How often it asks for models at its start is a matter of time: once, or once for each that it serves.
    assert green.has("16 passed", " calls replayed, 0 missed, 0 unused", "RELEASE VERDICT  PASS")
    assert green.code == 0


def test_the_same_recordings_answer_in_a_container(gateway: Project) -> None:
    base = os.environ.get("STACKPROOF_DOCKER_BASE")
    try:
        engine.connect(os.environ).close()
    except DockerError as error:
        pytest.skip(f"needs docker: {error.message}")
    if not base:
        pytest.skip("needs docker and a base image with Python in STACKPROOF_DOCKER_BASE")
    with _alone():
        ran = gateway.type(f"env STACKPROOF_DOCKER_BASE={base} stackproof run --stack-config docker:litellm --strict")
    assert ran.has("16 passed", " replayed, 0 recorded, 0 missed, 0 unused, 3 faults injected; sealed", "PASS")
    assert ran.code == 0
