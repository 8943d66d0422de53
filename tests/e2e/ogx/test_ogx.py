"""OGX itself behind the suites: in a process of its own, and in the process of its tests.

Runs when OGX's environment is in the cache already, or when STACKPROOF_REQUIRE names stacks/ogx: then it is made, from
PyPI.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stackproof import catalog
from stackproof.catalog.records import StackMode
from stackproof.errors import StackproofError
from stackproof.stack import interpreter, service

PROJECT = Path(__file__).parents[3]
TOOLS = "tests/integration/messages/test_tool_use.py"
SEARCH = "tests/integration/responses/test_file_search.py"
OURS = ("STACKPROOF_", "PYTEST_")
KEPT = ("STACKPROOF_PYTHON_OGX",)


@pytest.fixture(scope="module", autouse=True)
def ogx() -> None:
    """There is a Python that OGX runs with, and OGX for it."""
    spec = catalog.load(PROJECT).stacks["ogx"]
    required = "stacks/ogx" in os.environ.get("STACKPROOF_REQUIRE", "").split()
    made = list(service.cache_folder(os.environ).parent.glob("stacks/ogx/*/venv/bin/python"))
    if not required and len(made) < 2 and not os.environ.get(KEPT[0]):
        pytest.skip("stacks/ogx is not in the cache; STACKPROOF_REQUIRE=stacks/ogx fetches and runs it")
    try:
        for mode in (StackMode.SERVER, StackMode.LIBRARY):
            interpreter.choose(spec, mode, environment=os.environ, say=print, check=lambda: None)
    except StackproofError as error:
        pytest.skip(f"stacks/ogx cannot run here: {error.message}")


def run(*arguments: str, **environment: str) -> tuple[int, dict[str, Any]]:
    """One run in a process of its own: exit code, and the facts of its one cell."""
    caller = {name: value for name, value in os.environ.items() if not name.startswith(OURS) or name in KEPT}
    done = subprocess.run(
        [sys.executable, "-m", "stackproof", "run", "--json", *arguments],
        cwd=PROJECT,
        # Plugins of this environment that take longer to load than the tests run.
        env={
            **caller,
            "PYTEST_ADDOPTS": "-pno:langsmith_plugin -pno:hypothesispytest -pno:anyio -pno:asyncio -pno:recording",
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=540,
        check=False,
    )
    assert done.stdout.startswith("{"), done.stdout + done.stderr
    (cell,) = json.loads(done.stdout)["cells"]
    return done.returncode, cell


def outcomes(cell: dict[str, Any]) -> dict[str, Any]:
    """What `tests.jsonl` says: its last line about calls, and an outcome for each test."""
    lines = [json.loads(line) for line in (Path(cell["folder"]) / "tests.jsonl").read_text().splitlines()]
    tests = {line["nodeid"]: line for line in lines if line["event"] == "test"}
    calls = [line for line in lines if line["event"] == "calls"][-1]
    return {"tests": tests, "calls": calls}


@pytest.mark.parametrize("mode", ["server", "library"])
def test_recordings_are_replayed_through_ogx(mode: str, tmp_path: Path) -> None:
    given = ("--suite", "messages", "--stack-config", f"{mode}:ogx", "--file", TOOLS, "--strict")
    code, cell = run(*given, TMPDIR=str(tmp_path))
    assert code == 0, cell
    # It writes its configuration there, with keys in it, and a signal keeps it from taking the file away.
    assert list(tmp_path.glob("ogx-run-*")) == []
    found = outcomes(cell)
    assert found["calls"]["replayed"] == 7
    assert found["calls"]["missed"] == found["calls"]["unused"] == 0
    skipped = {name: test["reason"] for name, test in found["tests"].items() if test["outcome"] == "skipped"}
    assert len(skipped) == 2
    assert {reason.partition(" lacks ")[0] for reason in skipped.values()} == {"ogx"}


def test_ids_that_ogx_makes_are_functions_of_the_test() -> None:
    """Ids travel into what a model is asked: were they random, the next run would find no recording."""
    seen = []
    for _ in range(2):
        code, cell = run("--suite", "responses", "--stack-config", "server:ogx", "--file", SEARCH, "--pattern", "stays")
        assert code == 0, cell
        assert outcomes(cell)["calls"]["missed"] == 0
        with contextlib.closing(sqlite3.connect(Path(cell["folder"]) / "ogx" / "sql.db")) as database:
            seen.append(sorted(str(row[0]) for row in database.execute("SELECT id FROM openai_files")))
    first, second = seen
    assert first == second
    assert [name[-12:] for name in first] == ["000000000001", "000000000002"]
    assert all(name.startswith("file-") for name in first)


def test_what_ends_ogx_at_its_start_is_told(tmp_path: Path) -> None:
    code, cell = run(
        "--suite", "messages", "--stack-config", "server:ogx", "--file", TOOLS, "--env", f"OGX_STATE={tmp_path}/file/x"
    )  # fmt: skip
    assert code == 0, cell  # a folder that can be made is made
    (tmp_path / "plain").write_text("no folder")
    code, cell = run(
        "--suite", "messages", "--stack-config", "server:ogx", "--file", TOOLS, "--env", f"OGX_STATE={tmp_path}/plain"
    )  # fmt: skip
    assert code == 5, cell
    assert "exited with code 1" in cell["summary"]
    assert "File exists" in cell["hint"]


def test_a_python_that_is_too_old_is_named(tmp_path: Path) -> None:
    old = tmp_path / "python"
    old.write_text("#!/bin/sh\necho 3.11.2\n")
    old.chmod(0o755)
    code, cell = run(
        "--suite", "messages", "--stack-config", "server:ogx", "--file", TOOLS, STACKPROOF_PYTHON_OGX=str(old)
    )  # fmt: skip
    assert code == 2
    assert "which is Python 3.11.2; stack 'ogx' needs Python 3.12 or newer" in cell["summary"]
