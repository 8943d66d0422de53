"""Ten cells of `docker:reference` with one small test each, with a container for all of them and with one for each."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

CELLS = 10
# What other plugins of an environment do before and after the tests is no part of this.
WITHOUT = "-pno:langsmith_plugin -pno:hypothesispytest"
_SHARED = "  shared: true\n"
_TEST = """
import os, urllib.request

def test_health():
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(os.environ["STACKPROOF_API_BASE_URL"] + "/v1/health", timeout=20) as answer:
        assert answer.status == 200
"""
_DEADLINE = 600.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Ten:
    """Seconds of one run with ten cells. starts: from each cell's stack to its first 200, as the run tells it."""

    whole: float
    starts: tuple[float, ...]


@contextmanager
def project(source: Path, *, shared: bool) -> Iterator[Path]:
    """A project with ten suites, and the stack with or without `shared`."""
    with tempfile.TemporaryDirectory(prefix="stackproof-speed-") as folder:
        copy = Path(folder)
        shutil.copytree(source / "stacks" / "reference", copy / "stacks" / "reference")
        (copy / "recordings").mkdir()
        spec = copy / "stacks" / "reference" / "stack.yaml"
        text = spec.read_text()
        if _SHARED not in text:
            raise ValueError(f"{spec} does not say {_SHARED.strip()!r}")
        spec.write_text(text if shared else text.replace(_SHARED, ""))
        suites = {}
        for name in names():
            suites[name] = {"description": "d", "roots": [f"tests/integration/{name}"], "default_setup": "ollama"}
            tests = copy / "tests" / "integration" / name
            tests.mkdir(parents=True)
            (tests / f"test_{name}.py").write_text(_TEST)
        (copy / "tests" / "suites.yaml").write_text(json.dumps({"suites": suites}))
        yield copy


def names() -> tuple[str, ...]:
    """The suites."""
    return tuple(f"s{number}" for number in range(CELLS))


def run(where: Path) -> Ten:
    """One run; CalledProcessError when a cell does not pass."""
    command = [sys.executable, "-m", "stackproof", "run", "--stack-config", "docker:reference", "--json"]
    began = time.monotonic()
    done = subprocess.run(
        [*command, "--suite", ",".join(names())],
        cwd=where,
        env={**os.environ, "PYTEST_ADDOPTS": WITHOUT},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=_DEADLINE,
    )
    took = time.monotonic() - began
    outcomes = [
        json.loads(Path(cell["folder"], "outcome.json").read_text()) for cell in json.loads(done.stdout)["cells"]
    ]
    return Ten(whole=took, starts=tuple(float(item["stack"]["ready_in"]) for item in outcomes))
