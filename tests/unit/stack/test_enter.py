"""A container says before its program runs whether it can use the folders that it needs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stackproof.stack import enter


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where variables are put; standard input holds some."""
    path = tmp_path / "given.json"
    monkeypatch.setattr(enter, "_GIVEN", path)
    source = tmp_path / "stdin"
    source.write_text("{}")
    with source.open() as file:
        monkeypatch.setattr("sys.stdin", file)
        yield path


def test_folders_that_can_be_used_are_no_obstacle(tmp_path: Path, given: Path) -> None:
    (tmp_path / "recordings").mkdir()
    assert enter.give([str(tmp_path), str(tmp_path / "recordings")]) == 0
    assert given.read_text() == "{}"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["given.json", "recordings", "stdin"]


@pytest.mark.parametrize(("run_dir", "code"), [("nowhere", enter.NOT_WRITABLE), (".", enter.NOT_READABLE)])
def test_folders_that_cannot_be_used_are_told_and_nothing_is_taken(
    tmp_path: Path, given: Path, run_dir: str, code: int
) -> None:
    assert enter.give([str(tmp_path / run_dir), str(tmp_path / "no-recordings")]) == code
    assert not given.exists()


def test_a_recording_that_cannot_be_opened_is_found_below(tmp_path: Path, given: Path) -> None:
    folder = tmp_path / "recordings/ollama"
    folder.mkdir(parents=True)
    (folder / "x.json").symlink_to(tmp_path / "on-another-machine")
    assert enter.give([str(tmp_path), str(tmp_path / "recordings")]) == enter.NOT_READABLE
