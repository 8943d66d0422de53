"""Reading how far a cell is while its files grow."""

from __future__ import annotations

from pathlib import Path

from stackproof.run.progress import Progress, Tail


def test_a_line_that_is_not_finished_waits(tmp_path: Path) -> None:
    file = tmp_path / "tests.jsonl"
    tail = Tail(file)
    assert list(tail.read()) == []
    file.write_bytes(b'{"event": "collected"}\n{"event": "te')
    assert list(tail.read()) == [{"event": "collected"}]
    assert list(tail.read()) == []
    with file.open("ab") as more:
        more.write(b'st"}\nnonsense\n[1]\n')
    assert list(tail.read()) == [{"event": "test"}]


def test_a_test_counts_once_by_its_worse_part() -> None:
    progress = Progress()
    progress.note({"event": "collected", "nodeids": ["a", "b"]})
    progress.note({"event": "test", "nodeid": "a", "outcome": "passed"})
    progress.note({"event": "test", "nodeid": "a", "outcome": "error"})
    assert (progress.total, progress.done) == (2, 1)
    assert progress.words() == "1 error"


def test_a_repeated_test_counts_by_its_last_attempt() -> None:
    progress = Progress()
    for outcome in ("rerun", "passed"):
        progress.note({"event": "test", "nodeid": "a", "outcome": outcome})
    assert progress.words() == "1 passed"


def test_a_skip_reason_is_named_when_all_skipped_tests_share_it() -> None:
    progress = Progress()
    progress.note({"event": "test", "nodeid": "a", "outcome": "passed"})
    progress.note({"event": "test", "nodeid": "b", "outcome": "skipped", "reason": "Skipped: needs a vision model"})
    assert progress.words() == "1 passed, 1 skipped (needs a vision model)"
    progress.note({"event": "test", "nodeid": "c", "outcome": "skipped", "reason": "another"})
    assert progress.words() == "1 passed, 2 skipped"
