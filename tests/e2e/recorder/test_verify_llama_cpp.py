"""A real provider, asked again: llama.cpp behind the reference stack, observed within a budget."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from stackproof.catalog.records import ServiceSpec

_SUITES = """
root: tests/integration
suites:
  base: {description: All there is, roots: [tests/integration], default_setup: llama-cpp}
"""
_TESTS = """
ASK = [{"role": "user", "content": "Name a colour."}]

def test_chat(openai_client, text_model):
    told = openai_client.chat.completions.create(model=text_model, messages=ASK, max_tokens=8, temperature=0)
    assert told.choices[0].finish_reason

def test_stream(openai_client, text_model):
    told = openai_client.chat.completions.create(
        model=text_model, messages=ASK, max_tokens=8, temperature=0, stream=True, stream_options={"include_usage": True}
    )
    assert [chunk for chunk in told][-1].usage.completion_tokens

def test_responses(openai_client, text_model):
    told = openai_client.responses.create(model=text_model, input="Name a colour.", max_output_tokens=16, temperature=0)
    assert told.status in ("completed", "incomplete")

def test_messages(anthropic_client, text_model):
    with anthropic_client.messages.stream(model=text_model, messages=ASK, max_tokens=8) as stream:
        assert stream.get_final_message().stop_reason

def test_embeddings(openai_client, embedding_model):
    assert openai_client.embeddings.create(model=embedding_model, input="a cat").data
"""


def digest(folder: Path) -> str:
    """Names, contents and times of all that is below a folder."""
    told = [
        f"{path.relative_to(folder)} {path.stat().st_mtime_ns} "
        + sha256(path.read_bytes() if path.is_file() else b"").hexdigest()
        for path in sorted(folder.rglob("*"))
    ]
    return sha256("\n".join(told).encode()).hexdigest()


@pytest.fixture
def project(tmp_path: Path, llama_cpp: ServiceSpec) -> Path:
    """A project with a suite for a setup whose provider the run starts."""
    assert llama_cpp.name == "llama-cpp"
    for name, text in {
        "tests/suites.yaml": _SUITES,
        "tests/integration/test_it.py": _TESTS,
        "pytest.ini": "[pytest]\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def run(project: Path, mode: str, *options: str, stack: str = "library:reference") -> tuple[int, str]:
    """A run of the suite: its exit code and what it said."""
    # Where the variable CI is set nothing is recorded.
    outer = ("STACKPROOF_", "PYTEST_")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(outer) and name != "CI"}
    if "STACKPROOF_REQUIRE" in os.environ:
        environ["STACKPROOF_REQUIRE"] = os.environ["STACKPROOF_REQUIRE"]
    # Plugins of this environment that take longer to load than the tests run.
    environ["PYTEST_ADDOPTS"] = "-pno:langsmith_plugin -pno:hypothesispytest -pno:anyio -pno:asyncio -pno:recording"
    ended = subprocess.run(
        [sys.executable, "-m", "stackproof", "run", "--inference-mode", mode, "--stack-config", stack, *options],
        cwd=project,
        env=environ,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return ended.returncode, ended.stdout + ended.stderr


def cell(project: Path) -> Path:
    """The folder of the cell that ran last."""
    return max(project.glob(".stackproof/runs/*/cells/*"), key=lambda path: path.stat().st_mtime_ns)


def calls(project: Path) -> list[dict[str, Any]]:
    """What became of the last cell's calls."""
    return [json.loads(line) for line in (cell(project) / "calls.jsonl").read_text().splitlines()]


def test_what_it_says_now_is_observed_beside_recordings_that_stay(project: Path) -> None:
    code, said = run(project, "record")
    assert code == 0, said
    before = digest(project / "recordings")
    for options, stack in (((), "library:reference"), (("--workers", "2"), "server:reference")):
        code, said = run(project, "verify", *options, stack=stack)
        assert code == 0, said
        seen = calls(project)
        assert {call["kind"] for call in seen} == {"observed"}
        assert f"provider calls: {len(seen)} observed, 0 missed" in said
        asked = [call for call in seen if call["method"] == "POST"]
        # Every wire of this provider says what it has used, streams included.
        assert all(call["tokens"]["input"] > 0 for call in asked), asked
        total = sum(call["tokens"]["input"] + call["tokens"]["output"] for call in asked)
        assert f"spent: {len(seen)} requests, {total} tokens\n" in said
        assert digest(project / "recordings") == before


def test_a_budget_of_tokens_ends_it_in_order(project: Path) -> None:
    code, said = run(project, "verify", "--max-tokens", "30")
    assert code == 7, said
    facts = json.loads((cell(project) / "budget.json").read_text())
    assert facts["ended_by"] == "tokens"
    assert facts["tokens"][0] >= 30
    assert f"the budget of this run is used up: {facts['tokens'][0]} of 30 tokens" in said
    assert [call["kind"] for call in calls(project)].count("budget") >= 1
    assert not (project / "recordings").exists()
