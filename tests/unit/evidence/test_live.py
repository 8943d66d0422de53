"""What is read of live smokes: nothing in a file, in a folder or in a name can raise."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackproof.evidence import live
from stackproof.evidence.live import LiveOutcome

GOOD: dict[str, Any] = {
    "schema": 1,
    "kind": "live",
    "run_id": "abc",
    "commit": "a" * 40,
    "dirty": False,
    "started": "2026-12-01T10:00:00+00:00",
    "stopped": "2026-12-01T10:01:00+02:00",
    "outcome": "passed",
    "models": [
        {
            "model": "openai/gpt-5-mini",
            "setup": "gpt",
            "outcome": "passed",
            "reason": None,
            "tests": {"passed": 5, "skipped": 1},
            "requests": 12,
            "refused": 2,
            "retries": 1,
            "tokens": {"input": 100, "output": 20},
            "drift": {"breaking": 0, "additive": 1, "note": 2, "unrecorded": 3},
        }
    ],
    "budget": {"requests": [12, 60], "ended_by": None},
}
NAMED = live.VARIABLE


def put(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def test_a_smoke_is_read_with_its_models_in_utc(tmp_path: Path) -> None:
    put(tmp_path / "checks/live.json", GOOD)
    (found,) = live.of_run(tmp_path).smokes
    (model,) = found.of("gpt")
    assert found.stopped.isoformat() == "2026-12-01T08:01:00+00:00"
    assert (model.tests, model.requests, model.refused, model.answered) == ({"passed": 5, "skipped": 1}, 12, 2, 10)
    assert model.drift == live.DriftCounts(breaking=0, additive=1, note=2, unrecorded=3)
    assert found.of("other") == ()
    assert live.of_run(tmp_path / "nothing") == live.NONE


def test_a_folder_that_was_downloaded_is_searched_for_whole_runs_and_copies(tmp_path: Path) -> None:
    folder = tmp_path / "artifact"
    put(folder / "evidence/runs/r1/checks/live.json", {**GOOD, "run_id": "r1"})
    put(folder / "deep/.stackproof/live/gpt.json", {**GOOD, "run_id": "r2"})
    put(folder / "top.json", {**GOOD, "run_id": "r3"})
    put(folder / "evidence/runs/r1/verdict.json", {"kind": "verdict"})
    put(folder / "evidence/runs/r1/cells/x/result.json", "no JSON")
    found = live.elsewhere(tmp_path, {NAMED: "artifact"})
    assert sorted(each.run_id or "" for each in found.smokes) == ["r1", "r2", "r3"]
    assert found.problems == ()
    assert {each.origin for each in found.smokes} >= {"artifact/top.json", "artifact/deep/.stackproof/live/gpt.json"}


def test_links_and_pipes_in_a_folder_are_not_opened(tmp_path: Path) -> None:
    put(tmp_path / "elsewhere/live.json", GOOD)
    folder = tmp_path / "artifact"
    folder.mkdir()
    (folder / "live.json").symlink_to(tmp_path / "elsewhere/live.json")
    (folder / "more").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(folder / "pipe.json")
    found = live.elsewhere(tmp_path, {NAMED: str(folder)})
    assert found.smokes == ()
    assert "in which there is no live smoke" in found.problems[0]


@pytest.mark.parametrize("name", ["gone", "\0", "x" * 5000, "pipe"])
def test_a_name_that_leads_nowhere_is_said(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    found = live.elsewhere(tmp_path, {NAMED: name})
    assert (found.smokes, len(found.problems)) == ((), 1)
    assert len(found.problems[0]) < 500


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "cannot be read as the evidence of a live smoke"),
        ("[]", "cannot be read as the evidence of a live smoke"),
        ({**GOOD, "schema": 2}, "is of schema 2, not 1"),
        ({**GOOD, "outcome": "great"}, "does not say how the smoke ended"),
        ({**GOOD, "stopped": None}, "does not say when the smoke ended"),
        ({**GOOD, "stopped": "0001-01-01T00:00:00+23:00"}, "does not say when the smoke ended"),
        ("x" * (5 << 20), "cannot be read as the evidence of a live smoke"),
    ],
)
def test_a_file_that_is_no_evidence_is_named_with_why(tmp_path: Path, content: Any, said: str) -> None:
    put(tmp_path / ".stackproof/live/gpt.json", content)
    found = live.elsewhere(tmp_path, {})
    assert found == live.LiveEvidence(problems=(f".stackproof/live/gpt.json {said}",))


def test_a_file_of_another_kind_is_no_fault(tmp_path: Path) -> None:
    put(tmp_path / ".stackproof/live/gpt.json", {"schema": 1, "kind": "verdict"})
    assert live.elsewhere(tmp_path, {}) == live.NONE


def test_texts_lose_what_a_terminal_acts_on_and_copies_count_once(tmp_path: Path) -> None:
    model = {**GOOD["models"][0], "outcome": "failed", "reason": "a\x1b[31m\n::error::b" + "c" * 1000}
    for name in ("a.json", "b.json"):
        put(tmp_path / ".stackproof/live" / name, {**GOOD, "models": [model]})
    smokes = live.newest_first(live.elsewhere(tmp_path, {}).smokes)
    assert len(smokes) == 1
    reason = smokes[0].models[0].reason or ""
    assert reason.startswith("a\\x1b[31m\\n::error::b")
    assert len(reason) == 300


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.sampled_from(["gpt", "passed"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=200, deadline=None)
@given(key=st.sampled_from(sorted(GOOD)), inner=st.sampled_from([None, *sorted(GOOD["models"][0])]), value=ODD)
def test_whatever_a_value_is_it_is_read_or_named(
    tmp_path_factory: pytest.TempPathFactory, key: str, inner: str | None, value: Any
) -> None:
    data = {**GOOD, key: value} if inner is None else {**GOOD, "models": [{**GOOD["models"][0], inner: value}]}
    folder = tmp_path_factory.mktemp("odd")
    put(folder / "checks/live.json", data)
    found = live.of_run(folder)
    for smoke in found.smokes:
        assert smoke.outcome in LiveOutcome
        assert all(model.outcome in LiveOutcome and model.refused >= 0 for model in smoke.models)
        assert all(number >= 0 for model in smoke.models for number in (*model.tests.values(), model.requests or 0))
    assert all("\n" not in text for text in found.problems)
