"""The suite `live` without a call: skipped with what is missing, or replayed.

Each command takes seconds to begin. What a smoke says of each variable that is missing is in test_smoke.py, and the
replays of the other setups are cells of the release.
"""

from __future__ import annotations

from pathlib import Path

from tests.e2e.live.suite_runs import project, pytest_alone, ran

NEEDED = "a real call needs OPENAI_API_KEY and STACKPROOF_LIVE_MODEL; missing: "


def test_by_itself_every_test_is_skipped_with_what_is_missing(tmp_path: Path) -> None:
    done = pytest_alone(project(tmp_path), "-rs", "tests/live", STACKPROOF_LIVE_MODEL="openai/gpt-5-mini")
    assert done.returncode == 0, done.stdout
    lines = [line for line in done.stdout.splitlines() if line.startswith("SKIPPED")]
    assert len(lines) == 9, done.stdout  # one for each file
    assert all(line.endswith(f"{NEEDED}OPENAI_API_KEY") for line in lines)
    assert "15 skipped" in done.stdout
    assert not (tmp_path / ".stackproof").exists()


def test_replayed_it_asks_for_what_the_setups_provider_speaks_and_says_what_it_does_not(tmp_path: Path) -> None:
    # Which model anybody wants to call is nothing to a replay.
    done = ran(project(tmp_path), "--strict", setup="gemini", mode="replay", STACKPROOF_LIVE_MODEL="openai/gpt-5-mini")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 missed, 0 unused" in done.stdout
    run_dir = next((tmp_path / ".stackproof/runs").iterdir())
    text = next(run_dir.glob("cells/*/tests.jsonl")).read_text()
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
