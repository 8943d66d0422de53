"""The same suite under Stackproof: its server and its recordings are ours, its tests are OGX's own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

from ci.ogx_suite import measured
from ci.ogx_suite.what import Suite

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
    return measured.command(words, suite=suite.name, side="ours", cwd=project, environment=environment, folder=folder)


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
