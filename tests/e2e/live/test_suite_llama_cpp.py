"""The suite `live` against a real server."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.live.suite_runs import project, ran

from stackproof.catalog.records import ServiceSpec

MODEL = "llama-cpp/smollm2:135m"


def test_every_protocol_of_llama_cpp_reaches_its_end_and_has_the_recorded_shape(
    llama_cpp: ServiceSpec, tmp_path: Path
) -> None:
    assert llama_cpp.name == "llama-cpp"
    folder = project(tmp_path)
    before = {path: path.read_bytes() for path in folder.glob("recordings/**/*.json")}
    done = ran(folder, setup="llama-cpp", STACKPROOF_LIVE_MODEL=MODEL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "9 passed, 6 skipped" in done.stdout
    assert "9 observed" in done.stdout
    drift = json.loads(next(folder.glob(".stackproof/runs/*/cells/*/drift.json")).read_text())
    # The test that ran is the test that was recorded, since its name says nothing of the model.
    assert (drift["compared"], drift["unrecorded"]) == (9, [])
    assert drift["counts"]["breaking"] == 0
    assert {path: path.read_bytes() for path in folder.glob("recordings/**/*.json")} == before


def test_two_models_are_each_called_by_every_test(llama_cpp: ServiceSpec, tmp_path: Path) -> None:
    assert llama_cpp.name == "llama-cpp"
    both = f"{MODEL},llama-cpp/stackproof-scripted-tools,openai/not-of-this-setup"
    keys = {"OPENAI_API_KEY": "sk-not-a-real-one-0123456789", "STACKPROOF_LIVE_MODEL": both}
    folder = project(tmp_path)
    done = ran(folder, "--file", "tests/live/test_responses.py", setup="llama-cpp", **keys)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout
    tests = next(folder.glob(".stackproof/runs/*/cells/*/tests.jsonl")).read_text()
    assert f"test_a_response_is_whole[{MODEL}]" in tests
    assert "not-of-this-setup" not in tests
