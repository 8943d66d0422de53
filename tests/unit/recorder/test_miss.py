"""What a person reads when nothing recorded fits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackproof.recorder import miss
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import STACK, Scope

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)
ASK = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "temperature": 0}


def _asked(bench: Any, body: Any, owner: Scope | None = None, **more: Any) -> tuple[str, str]:
    told: tuple[str, str] = bench.refusal(bench.ask(bench.brain(Mode.REPLAY), bench.request(body, **more), owner))
    return told


def test_nothing_recorded_for_the_scope(bench: Any) -> None:
    kind, text = _asked(bench, ASK)
    assert kind == "nothing-recorded"
    chosen = "--file tests/integration/base/test_chat.py --pattern test_it --inference-mode record-if-missing"
    assert text.splitlines() == [
        "no recording for POST /chat/completions of ollama (model m, call 1 of this request)",
        "  nothing is recorded for tests/integration/base/test_chat.py::test_it",
        f"  record it: {bench.settings.command} {chosen}",
    ]


def test_no_match_names_the_nearest_and_every_path_that_differs(bench: Any) -> None:
    bench.record(({"other": 1}, {"a": 1}), (ASK, {"a": 2}))
    near = {**ASK, "messages": [{"role": "user", "content": "ho"}], "temperature": None, "stop": ["x"]}
    del near["model"]
    kind, text = _asked(bench, near)
    assert kind == "no-match"
    lines = text.splitlines()
    name = next(path for path in bench.files() if '"hi"' in (bench.recordings / "base" / path).read_text())
    assert lines[1].startswith("  nearest: ")
    assert name in lines[1]
    assert [line.split() for line in lines[2:-1]] == [
        ["model", "recorded", '"m"', "sent", "nothing"],
        ["messages[0].content", "recorded", '"hi"', "sent", '"ho"'],
        ["temperature", "recorded", "0", "sent", "null"],
        ["stop", "recorded", "nothing", "sent", '["x"]'],
    ]


def test_another_path_or_provider_differs_too(bench: Any) -> None:
    bench.record((ASK, {"a": 1}))
    assert "path" in _asked(bench, ASK, path="/completions")[1]


def test_long_values_and_many_differences_are_cut(bench: Any) -> None:
    bench.record(({f"k{number}": "x" * 500 for number in range(20)}, {"a": 1}))
    _, text = _asked(bench, {f"k{number}": "y" * 500 for number in range(20)})
    assert "and 12 more" in text
    assert max(map(len, text.splitlines()[2:-1])) < 200


def test_exhausted_says_how_many_there_are(bench: Any) -> None:
    bench.record((ASK, {"a": 1}))
    brain = bench.brain(Mode.REPLAY)
    bench.ask(brain, bench.request(ASK))
    kind, text = bench.refusal(bench.ask(brain, bench.request(ASK)))
    assert kind == "exhausted"
    assert "recorded 1, asked for number 2" in text
    assert text.splitlines()[-1].endswith("--inference-mode record-if-missing")


def test_a_renamed_test_is_guessed(bench: Any) -> None:
    bench.record((ASK, {"a": 1}))
    kind, text = _asked(bench, ASK, bench.owner("tests/integration/base/test_chat.py::test_renamed"))
    assert kind == "nothing-recorded"
    assert "is recorded for tests/integration/base/test_chat.py::test_it: was the test renamed?" in text


def test_a_number_whose_predecessor_is_gone_is_explained(bench: Any) -> None:
    bench.record((ASK, {"n": 1}), (ASK, {"n": 2}))
    first, second = sorted((bench.recordings / "base").iterdir(), key=lambda path: len(path.name))
    first.unlink()
    kind, text = _asked(bench, ASK)
    assert kind == "no-match"
    assert second.name in text


def test_damaged_neighbours_do_not_hide_the_nearest(bench: Any) -> None:
    bench.record((ASK, {"a": 1}), ({"other": 1}, {"a": 2}))
    for path in (bench.recordings / "base").iterdir():
        if '"other"' in path.read_text():
            path.write_text("<<<<")
    assert "temperature" in _asked(bench, {**ASK, "temperature": 1})[1]


def test_a_miss_is_written_down_although_the_program_may_swallow_it(bench: Any) -> None:
    brain = bench.brain(Mode.REPLAY)
    bench.ask(brain, bench.request(ASK))
    (entry,) = brain.ledger.read("misses")[0]
    assert (entry["kind"], entry["test_id"], entry["attempt"]) == ("nothing-recorded", bench.owner().name, 1)
    assert entry["request"]["body"]["json"] == ASK
    assert [entry["kind"] for entry in brain.ledger.read("calls")[0]] == ["missed"]


# -- the command


@pytest.mark.parametrize(
    ("name", "chosen"),
    [
        ("a/test_b.py::test_c", "--file a/test_b.py --pattern test_c"),
        ("a/test_b.py::TestX::test_c[p-1]", "--file a/test_b.py --pattern test_c"),
        ("a/test_b.py::test_c[x::y]", "--file a/test_b.py --pattern test_c"),
        ("a/test_b.py::test_c[a[b]::c]", "--file a/test_b.py --pattern test_c"),
        ("a b/test_c.py::test_d", "--file 'a b/test_c.py' --pattern test_d"),
        ("a/test_b.py", "--file a/test_b.py"),
    ],
)
def test_the_command_records_exactly_this_test(name: str, chosen: str) -> None:
    for owner in (Scope(name=name, test_id=name), Scope(name="fixture:a::f", test_id=name)):
        assert miss.command_for("run", owner) == f"run {chosen} --inference-mode record-if-missing"


def test_a_scope_without_a_test_is_recorded_by_a_whole_run() -> None:
    for owner in (STACK, Scope(name="fixture:a::f")):
        assert miss.command_for("run", owner, Mode.RECORD) == "run --inference-mode record"


# -- differences


@given(JSON_VALUES)
def test_equal_values_do_not_differ(value: Any) -> None:
    assert list(miss.differences(value, json.loads(json.dumps(value)))) == []


@given(JSON_VALUES, JSON_VALUES)
def test_different_values_differ_somewhere(one: Any, other: Any) -> None:
    found = list(miss.differences({"x": one}, {"x": other}))
    assert bool(found) == (json.dumps(one, sort_keys=True) != json.dumps(other, sort_keys=True))


def test_a_number_is_not_its_text_nor_its_float() -> None:
    for one, other in ((1, 1.0), (1, True), (1, "1"), (None, False)):
        assert [path for path, _, _ in miss.differences([one], [other])] == ["[0]"]


# -- the answer


def test_the_answer_is_read_by_every_sdk_as_an_error_not_to_retry() -> None:
    told = json.loads(miss.body(miss.Miss(kind="no-match", text="no\nmatch é")))
    assert told["error"] == {
        "message": "no\nmatch é",
        "type": "stackproof_error",
        "param": None,
        "code": "recording_no-match",
    }
    assert told["message"] == "no\nmatch é"
    assert miss.headers()["x-should-retry"] == "false"
    assert miss.STATUS == 424


def test_a_folder_that_is_not_there_is_an_empty_one(bench: Any, tmp_path: Path) -> None:
    (tmp_path / "recordings").write_text("a file in the place of a folder")
    kind, text = _asked(bench, ASK)
    assert kind == "damaged"
    assert "recordings/ollama/base/" in text
