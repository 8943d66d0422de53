"""The reference stack at the edge: what it recorded with its recorder inside replays there, and the other way round."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from stackproof.catalog.records import ServiceSpec

ROOT = Path(__file__).parents[3]
STACK = f"""
description: the reference stack without a recorder inside
modes: [server]
recorder: edge
command: ["{{python}}", "-m", "uvicorn", "--factory", "reference_stack.app:create_app", "--host", "{{host}}",
          "--port", "{{port}}", "--no-access-log"]
readiness: {{path: /v1/health}}
env: {{REFERENCE_DB: "{{run_dir}}/reference.sqlite", PYTHONPATH: "{ROOT / "stacks" / "reference"}"}}
variables: {{STACKPROOF_EMBEDDING_MODEL: REFERENCE_EMBEDDING_MODEL}}
"""


@pytest.fixture
def copy(project: Any) -> Any:
    """This project's own suites and committed recordings, and the reference stack twice."""
    shutil.rmtree(project.root / "tests")
    (project.root / "stacks" / "setups.yaml").unlink()
    listed = subprocess.run(
        ["git", "ls-files", "tests/integration", "tests/suites.yaml", "recordings/ollama"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for name in listed.stdout.splitlines():
        target = project.root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target)
    folder = project.root / "stacks" / "at-edge"
    folder.mkdir(parents=True)
    (folder / "stack.yaml").write_text(STACK)
    return project


def calls(done: Any, kind: str) -> int:
    assert done.code == 0, done.output
    return int(re.findall(rf"(\d+) {kind}", done.output)[-1])


def test_what_is_committed_replays_at_the_edge_as_in_process(copy: Any) -> None:
    inside = copy.run("--suite", "base", "--setup", "ollama", "--stack-config", "server:reference")
    outside = copy.run("--suite", "base", "--setup", "ollama", "--stack-config", "server:at-edge")
    for done in (inside, outside):
        assert calls(done, "missed") == 0
    assert calls(outside, "replayed") == calls(inside, "replayed") > 50
    assert calls(outside, "unused") == calls(inside, "unused")


def test_real_answers_recorded_at_the_edge_replay_in_process_and_the_other_way_round(
    copy: Any, llama_cpp: ServiceSpec
) -> None:
    shutil.rmtree(copy.root / "recordings")
    words = ("--suite", "base", "--setup", "llama-cpp", "--file", "tests/integration/base/test_chat_stream.py")
    for records, replays in (("at-edge", "reference"), ("reference", "at-edge")):
        recorded = copy.run(*words, "--stack-config", f"server:{records}", "--inference-mode", "record")
        assert calls(recorded, "recorded") > 5
        for name in (replays, records):
            replayed = copy.run(*words, "--stack-config", f"server:{name}")
            assert calls(replayed, "replayed") == calls(recorded, "recorded")
            assert (calls(replayed, "missed"), calls(replayed, "unused")) == (0, 0)
        shutil.rmtree(copy.root / "recordings")
