"""The suites against the stack on Node.js, and TypeScript's against both stacks: from the recordings that lie here."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]


def run(environment: Mapping[str, str], *arguments: str) -> tuple[int, str]:
    """The command's exit code, and all that it said."""
    done = subprocess.run(
        [sys.executable, "-m", "stackproof", "run", "--setup", "ollama", *arguments],
        cwd=ROOT,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=540,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def green(environment: Mapping[str, str], *arguments: str) -> dict[str, Any]:
    """What is told of the one cell of a run that was green."""
    code, said = run(environment, "--json", *arguments)
    assert code == 0, said
    cell: dict[str, Any]
    (cell,) = json.loads(said)["cells"]
    return cell


@pytest.mark.parametrize("suite", ["base", "messages"])
def test_a_suite_is_green_on_what_the_stack_in_python_recorded(
    gateway: Path, environment: Mapping[str, str], suite: str
) -> None:
    cell = green(environment, "--suite", suite, "--stack-config", "server:reference-node")
    calls = cell["result"]["calls"]
    assert calls["replayed"] > 10
    assert calls["missed"] == calls["recorded"] == 0
    lines = [json.loads(line) for line in Path(cell["folder"], "tests.jsonl").read_text().splitlines()]
    skipped = {line["nodeid"]: line["reason"] for line in lines if line.get("outcome") == "skipped"}
    lacking = {name for name, reason in skipped.items() if reason == "reference-node lacks the Responses API"}
    assert {name.partition("::")[0].rpartition("/")[2] for name in lacking} == (
        {"test_responses.py", "test_tools.py"} if suite == "base" else set()
    )
    assert all("vision" in name for name in skipped.keys() - lacking)


@pytest.mark.parametrize("stack", ["server:reference", "server:reference-node"])
def test_the_suite_in_typescript_is_green(
    gateway: Path, client: Path, environment: Mapping[str, str], stack: str
) -> None:
    found = green(environment, "--suite", "client_typescript", "--stack-config", stack)["result"]
    assert found["counts"]["passed"] == found["counts"]["collected"] == 16
    assert found["calls"]["replayed"] == 16
    assert found["calls"]["missed"] == found["calls"]["unused"] == 0


def test_ids_may_come_in_baggage_alone(gateway: Path, client: Path, environment: Mapping[str, str]) -> None:
    stack = ("--stack-config", "server:reference-node", "--env", "REFERENCE_NODE_FORWARD=baggage")
    code, said = run(environment, "--suite", "client_typescript", *stack)
    assert code == 0, said
    assert "ids: forwarded by the stack (baggage)" in said


def test_a_stack_that_drops_ids_gets_them_announced_by_pytest_and_not_by_others(
    gateway: Path, client: Path, environment: Mapping[str, str]
) -> None:
    stack = ("--stack-config", "server:reference-node", "--env", "REFERENCE_NODE_FORWARD=")
    code, said = run(environment, "--suite", "messages", *stack)
    assert code == 0, said
    assert "ids: announced" in said
    code, said = run(environment, "--suite", "client_typescript", *stack)
    assert code == 2, said
    assert "vitest announces none" in said
