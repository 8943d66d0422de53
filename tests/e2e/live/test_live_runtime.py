"""tests/live, run for real: against llama.cpp, and with what is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

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
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.endswith(("_KEY", "_URL", "_LIVE_MODEL")) and not name.startswith(("PYTEST_", "STACKPROOF_"))
    }
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
        command, cwd=PROJECT, env={**clean, **variables}, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return " ".join(done.stdout.split())


def test_a_real_turn_is_completed(url: str) -> None:
    said = live(LLAMA_CPP_URL=url, STACKPROOF_LIVE_MODEL=MODEL)
    assert "test_a_turn_is_completed PASSED" in said
    assert "1 passed" in said


def test_a_real_turn_of_each_of_two_models_is_completed(url: str) -> None:
    # The scripted model speaks without tools, too.
    both = f"{MODEL},llama-cpp/stackproof-scripted-tools"
    assert "2 passed" in live(LLAMA_CPP_URL=url, STACKPROOF_LIVE_MODEL=both)


@pytest.mark.parametrize(
    ("variables", "missing"),
    [
        ({}, "OPENAI_API_KEY, STACKPROOF_LIVE_MODEL"),
        ({"OPENAI_API_KEY": "sk-not-a-real-one"}, "STACKPROOF_LIVE_MODEL"),
        ({"STACKPROOF_LIVE_MODEL": "openai/gpt-5-mini"}, "OPENAI_API_KEY"),
    ],
)
def test_it_is_skipped_with_what_is_missing(variables: dict[str, str], missing: str) -> None:
    said = live(**variables)
    assert "1 skipped" in said
    assert f"a real call needs OPENAI_API_KEY and STACKPROOF_LIVE_MODEL; missing: {missing}" in said
