"""What a container wrote arrives once, beside what this side writes into the same files."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackproof.stack.received import Received


def test_a_journal_that_both_sides_append_to_gets_each_line_once(tmp_path: Path) -> None:
    received, journal = Received(tmp_path), tmp_path / "calls.jsonl"
    received.grown("calls.jsonl", 0, b"one\n")
    with journal.open("a") as file:
        file.write("ours\n")
    received.grown("calls.jsonl", 4, b"two\n")
    received.left("calls.jsonl", b"one\ntwo\nthree")
    assert journal.read_text() == "one\nours\ntwo\nthree\n"


def test_a_staged_recording_that_was_moved_into_place_does_not_come_back(tmp_path: Path) -> None:
    received = Received(tmp_path)
    received.whole("staged/abc/1/x.json", b"first")
    (tmp_path / "staged/abc/1/x.json").unlink()
    received.left("staged/abc/1/x.json", b"first")
    assert not (tmp_path / "staged/abc/1/x.json").exists()
    received.left("staged/abc/1/y.json", b"later")
    assert (tmp_path / "staged/abc/1/y.json").read_bytes() == b"later"


def test_what_is_overwritten_in_there_is_overwritten_here(tmp_path: Path) -> None:
    received = Received(tmp_path)
    received.whole("running", b"one")
    received.whole("running", b"two")
    assert (tmp_path / "running").read_bytes() == b"two"
    received.left("running", b"end")
    assert (tmp_path / "running").read_bytes() == b"end"


@pytest.mark.parametrize("name", ["guest/enter.py", "claims", "serving/abc/1", "ended/abc.1", "staged/a/.x.tmp"])
def test_what_only_the_container_needs_stays_there(tmp_path: Path, name: str) -> None:
    Received(tmp_path).left(name, b"x")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_outside_of_the_folder(tmp_path: Path) -> None:
    cell = tmp_path / "cell"
    cell.mkdir()
    for name in ("../escaped", "/escaped", "staged/../../escaped"):
        with pytest.raises(OSError, match="leads out"):
            Received(cell).whole(name, b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["cell"]
