"""The suite `live` without a call: skipped with what is missing, or replayed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.e2e.live.suite_runs import project, pytest_alone, ran

NEEDED = "a real call needs OPENAI_API_KEY and STACKPROOF_LIVE_MODEL; missing: "


@pytest.mark.parametrize(
    ("variables", "missing"),
    [
        ({}, "OPENAI_API_KEY, STACKPROOF_LIVE_MODEL"),
        ({"OPENAI_API_KEY": "sk-not-a-real-one"}, "STACKPROOF_LIVE_MODEL"),
        ({"STACKPROOF_LIVE_MODEL": "openai/gpt-5-mini"}, "OPENAI_API_KEY"),
    ],
)
def test_by_itself_every_test_is_skipped_with_what_is_missing(
    tmp_path: Path, variables: dict[str, str], missing: str
) -> None:
    done = pytest_alone(project(tmp_path), "-rs", "tests/live", **variables)
    assert done.returncode == 0, done.stdout
    lines = [line for line in done.stdout.splitlines() if line.startswith("SKIPPED")]
    assert len(lines) == 9, done.stdout  # one for each file
    assert all(line.endswith(NEEDED + missing) for line in lines)
    assert "15 skipped" in done.stdout
    assert not (tmp_path / ".stackproof").exists()


@pytest.mark.parametrize(
    ("setup", "passed", "skipped"),
    [("llama-cpp", 9, 6), ("tavily", 7, 8)],
)
def test_replayed_it_asks_for_what_the_setups_providers_speak(
    tmp_path: Path, setup: str, passed: int, skipped: int
) -> None:
    # Which model anybody wants to call is nothing to a replay.
    done = ran(project(tmp_path), "--strict", setup=setup, mode="replay", STACKPROOF_LIVE_MODEL="openai/gpt-5-mini")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{passed} passed, {skipped} skipped" in done.stdout
    assert "0 missed, 0 unused" in done.stdout


def test_what_a_provider_does_not_speak_is_skipped_with_its_name(tmp_path: Path) -> None:
    done = ran(project(tmp_path), "--json", setup="gemini", mode="replay")
    assert done.returncode == 0, done.stdout + done.stderr
    run_dir = Path(next((tmp_path / ".stackproof/runs").iterdir()))
    tests = [json.loads(line) for line in next(run_dir.glob("cells/*/tests.jsonl")).read_text().splitlines()]
    text = json.dumps(tests)
    assert "gemini speaks no rerank" in text
    assert "gemini speaks no responses" in text
    assert "gemini speaks no ollama" in text


def test_a_real_call_that_nobody_asked_for_is_not_made_in_a_run(tmp_path: Path) -> None:
    done = ran(project(tmp_path), setup="gpt", OPENAI_API_KEY="sk-not-a-real-one-0123456789")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "15 skipped (a real call needs OPENAI_API_KEY and STACKPROOF_LIVE_MODEL" in done.stdout
    assert "0 observed" in done.stdout
    tests = next(tmp_path.glob(".stackproof/runs/*/cells/*/tests.jsonl")).read_text()
    assert tests.count(f"{NEEDED}STACKPROOF_LIVE_MODEL") == 15
