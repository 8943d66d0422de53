"""What a run loads before its tests begin: each of its processes waits for that, in every run."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

DEAR = {
    "asyncio", "coverage", "docker", "pytest", "requests", "urllib.request",
    "stackproof.drift", "stackproof.edge.probe", "stackproof.edge.process", "stackproof.measure.told",
    "stackproof.stack.engine", "stackproof.swarm", "stackproof.verdict",
}  # fmt: skip


def _loaded(module: str) -> set[str]:
    code = f"import json, sys, {module}; print(json.dumps(sorted(sys.modules)))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    return set(json.loads(said.stdout))


@pytest.mark.parametrize("module", ["stackproof.run_command", "stackproof.run.cell"])
def test_nothing_is_loaded_that_most_runs_have_no_use_for(module: str) -> None:
    loaded = _loaded(module)
    assert module in loaded
    assert loaded & DEAR == set()


def test_a_server_is_started_without_the_commands() -> None:
    loaded = _loaded("stackproof.recorder.serve.exec_")
    assert {name for name in loaded if name.partition(".")[0] in {"click", "yaml", "rich"}} == set()
    assert "stackproof.cli" not in loaded
