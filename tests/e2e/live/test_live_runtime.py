"""tests/live with no run around it: the stack is made in the tests' own process, and calls llama.cpp for real."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.live.smoking import environment

from stackproof.catalog.records import ServiceSpec
from stackproof.stack import service as services

PROJECT = Path(__file__).resolve().parents[3]
MODEL = "llama-cpp/smollm2:135m"


@pytest.fixture(scope="module")
def url(llama_cpp: ServiceSpec, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("llama-cpp")
    with services.run(
        llama_cpp, environment=os.environ, cell_dir=folder, run_id="live00", say=print, check=lambda: None
    ) as running:
        yield running.url


def live(**variables: str) -> str:
    """What pytest says of tests/live; it must have ended well."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-v",
        "-rs",
        "-p",
        "no:cacheprovider",
        "tests/live/test_agent_runtime.py",
    ]
    done = subprocess.run(
        command, cwd=PROJECT, env=environment(**variables), capture_output=True, text=True, timeout=540, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return " ".join(done.stdout.split())


def test_a_real_turn_of_each_of_two_models_is_completed(url: str) -> None:
    # The scripted model speaks without tools, too.
    said = live(LLAMA_CPP_URL=url, STACKPROOF_LIVE_MODEL=f"{MODEL},llama-cpp/stackproof-scripted-tools")
    assert said.count("PASSED") == 2
    assert "2 passed" in said
