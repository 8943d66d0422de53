"""`stackproof smoke` with this project's own suite `live` and a real model: llama.cpp, which is asked for a key."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.live.smoking import SUITES, holding, smoke

from stackproof.catalog.records import ServiceSpec
from stackproof.stack import service as services

PROJECT = Path(__file__).resolve().parents[3]
MODEL = "smollm2:135m"
KEY = "sk-proj-made-up-for-llama-cpp-0123"
WRONG = "sk-proj-made-up-and-not-the-one-9876"
# Chat, its stream, and the turn of the agent runtime: what says most for the least.
FEW = ("--", "-k", "test_a_turn_is_completed or (test_chat and not tool)")


@pytest.fixture(name="url", scope="module")
def _url(llama_cpp: ServiceSpec, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with services.run(
        llama_cpp,
        environment={**os.environ, "LLAMA_API_KEY": KEY},
        cell_dir=tmp_path_factory.mktemp("llama-cpp"),
        run_id="smoke0",
        say=print,
        check=lambda: None,
    ) as running:
        yield running.url


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    """A project with our suite, so that nothing is left in ours."""
    shutil.copytree(PROJECT / "tests/live", tmp_path / "tests/live", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "tests/suites.yaml").write_text(SUITES)
    return tmp_path


def test_a_good_key_passes_with_real_models_that_are_judged_apart(url: str, folder: Path) -> None:
    models = f"openai/{MODEL},openai/stackproof-scripted-tools"
    told = smoke(folder, *FEW, OPENAI_BASE_URL=url, OPENAI_API_KEY=KEY, STACKPROOF_LIVE_MODEL=models)
    assert told.code == 0, told.out + told.err
    assert f"● openai key accepted, model {MODEL} is there   " in told.out
    rows = [(row["model"], row["outcome"], row["tests"], row["requests"]) for row in told.live["models"]]
    # Its title has "tool" in it, which leaves the turn alone of the few.
    counts = zip(models.split(","), (3, 1), strict=True)
    assert rows == [(title, "passed", {"passed": count}, count) for title, count in counts]
    assert all(row["tokens"]["output"] > 0 for row in told.live["models"])
    assert told.last.startswith("LIVE SMOKE PASSED: 2 of 2 models passed")
    assert holding(folder, KEY) == []


def test_a_wrong_key_is_told_before_any_test(url: str, folder: Path) -> None:
    variables = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": WRONG, "STACKPROOF_LIVE_MODEL": f"openai/{MODEL}"}
    told = smoke(folder, **variables)
    assert told.code == 7, told.out + told.err
    assert "✗ openai rejects OPENAI_API_KEY (401: " in told.out
    assert (told.model["outcome"], told.model["tests"]) == ("blocked", {})
    assert holding(folder, WRONG) == []


def test_a_budget_that_ends_in_the_middle_of_real_calls_stops_in_order(url: str, folder: Path) -> None:
    variables = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": KEY, "STACKPROOF_LIVE_MODEL": f"openai/{MODEL}"}
    told = smoke(folder, "--max-requests", "4", *FEW, **variables)
    assert told.code == 7, told.out + told.err
    assert told.model["tests"] == {"passed": 2, "skipped": 1}
    assert told.live["budget"]["requests"] == [4, 4]
    assert told.last.startswith("LIVE SMOKE STOPPED: 0 of 1 model passed; 4 of 4 requests (2 of them before the tests)")


def test_a_service_that_the_run_starts_counts_as_the_first_variable(llama_cpp: ServiceSpec, folder: Path) -> None:
    told = smoke(folder, "--provider-service", llama_cpp.name, *FEW, STACKPROOF_LIVE_MODEL=f"llama-cpp/{MODEL}")
    assert told.code == 0, told.out + told.err
    assert "● llama-cpp ready in " in told.out
    assert (told.model["outcome"], told.model["requests"]) == ("passed", 3)
