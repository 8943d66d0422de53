"""The same suite under Stackproof: its server and its recordings are ours, its tests are OGX's own."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ci.ogx_suite import measured
from ci.ogx_suite.what import Suite

_RUN = re.compile(r"· run (\w+) ·")
# What OGX's script gives to pytest, word for word.
_LEFT_OUT = "not( builtin_tool or safety_with_image or code_interpreter or test_rag )"
_MODELS = (
    "--embedding-model=sentence-transformers/nomic-ai/nomic-embed-text-v1.5",
    "--rerank-model=transformers/Qwen/Qwen3-Reranker-0.6B",
)


def run(
    suite: Suite, *, checkout: Path, project: Path, python: Path, environment: Mapping[str, str], folder: Path
) -> measured.Measured:
    """Run it. A setup of OGX is variables, which its server gets, and models, which its pytest options name."""
    variables = _variables(suite, checkout=checkout, python=python, environment=environment)
    words = [str(python), "-m", "stackproof", "run", "--suite", suite.name, "--pattern", _LEFT_OUT]
    for name, value in variables.items():
        words += ["--env", f"{name}={value}"]
    words += ["--", f"--setup={suite.setup}", *_MODELS, f"--junitxml={folder / 'junit.xml'}"]
    if not suite.subdirs:
        words.append(f"--suite={suite.name}")
    run = measured.command(words, suite=suite.name, side="ours", cwd=project, environment=environment, folder=folder)
    return replace(run, sockets={**run.sockets, **_refused(project, folder)})


def _refused(project: Path, folder: Path) -> dict[str, int]:
    """Attempts to leave the machine that the recorder refused, which a watch behind it does not see."""
    named = _RUN.search((folder / "output.txt").read_text(errors="replace"))
    refused: Counter[str] = Counter()
    for path in (project / ".stackproof/runs" / named[1] / "cells").glob("*/calls.jsonl") if named else ():
        calls = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
        refused.update(f"refused {call.get('host')}" for call in calls if call.get("reason") == "network")
    return dict(refused)


def _variables(suite: Suite, *, checkout: Path, python: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of OGX's setup, as its own helper prints them."""
    words = [str(python), str(checkout / "scripts" / "get_setup_env.py"), "--setup", suite.setup, "--format", "json"]
    path = f"{checkout}:{environment['PYTHONPATH']}"
    done = subprocess.run(
        words, cwd=checkout, env={**environment, "PYTHONPATH": path}, capture_output=True, text=True, timeout=120,
        check=True,
    )  # fmt: skip
    # Its logger may speak before.
    return dict(json.loads(done.stdout.splitlines()[-1])["env"])
