"""Polls: asked more often than was recorded, they get the last answer where a rule says so, and only there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stackproof.recorder.mode import Mode

_POLL = {"name": "poll", "endpoint": "GET /batches/*", "repeat": "last"}


def _poll(bench: Any) -> Any:
    return bench.request(path="/batches/b-1")


@pytest.mark.parametrize(
    "owner", ["tests/integration/base/test_it.py::test_it", "fixture:tests/integration/base::wide"]
)
def test_the_last_answer_to_a_poll_stays_where_a_rule_says_so(bench: Any, owner: str) -> None:
    record = bench.brain(Mode.RECORD, rules=(_POLL,))
    for state in ("in_progress", "completed"):
        bench.play(bench.ask(record, _poll(bench), bench.owner(owner)), {"state": state})
    record.store.promote(bench.owner(owner), replace=True)
    assert all(json.loads(path.read_text())["rules"] == [] for path in (bench.recordings / "base").iterdir())
    processes = [bench.brain(Mode.REPLAY, run="-2", rules=(_POLL,)) for _ in range(2)]
    told = [bench.body(bench.ask(processes[n % 2], _poll(bench), bench.owner(owner))) for n in range(6)]
    assert told == [b'{"state":"in_progress"}', *[b'{"state":"completed"}'] * 5]
    again = bench.brain(Mode.REPLAY, run="-2", rules=(_POLL,))
    assert b"in_progress" in bench.body(bench.ask(again, _poll(bench), bench.owner(owner, attempt=2)))


def test_without_the_rule_a_poll_too_many_is_exhausted(bench: Any) -> None:
    bench.record((None, {"state": "in_progress"}), (None, {"state": "completed"}), path="/batches/b-1")
    other = {**_POLL, "endpoint": "GET /jobs/*"}
    replay = bench.brain(Mode.REPLAY, run="-x", rules=(other,))
    for _ in range(2):
        bench.body(bench.ask(replay, _poll(bench)))
    kind, text = bench.refusal(bench.ask(replay, _poll(bench)))
    assert kind == "exhausted"
    assert "recorded 2, asked for number 3" in text


def test_a_poll_that_is_recorded_or_missing_goes_out(bench: Any) -> None:
    record = bench.brain(Mode.RECORD_IF_MISSING, rules=(_POLL,))
    for state in ("in_progress", "completed"):
        bench.play(bench.ask(record, _poll(bench)), {"state": state})
    assert record.store.promote(bench.owner(), replace=False) == (2, 0)
    later = bench.brain(Mode.RECORD_IF_MISSING, run="-2", rules=(_POLL,))
    told = [bench.body(bench.ask(later, _poll(bench))) for _ in range(3)]
    assert told[1:] == [b'{"state":"completed"}'] * 2
    kind, _ = bench.refusal(bench.ask(bench.brain(Mode.REPLAY, rules=(_POLL,)), bench.request(path="/batches/b-2")))
    assert kind == "no-match"
