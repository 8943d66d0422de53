"""Paths of times are called as they were given, wherever the project is."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackproof.cli.main import main
from stackproof.errors import ExitCode, UsageError
from stackproof.shards import timings


def test_a_path_that_is_not_there_is_called_as_it_was_given(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no ci/timings\.json$"):
        timings.read(["ci/timings.json"], project=tmp_path)


def test_a_file_that_holds_no_times_is_called_as_it_was_given(tmp_path: Path) -> None:
    (tmp_path / "ci").mkdir()
    for name in ("broken.json", "broken.xml"):
        (tmp_path / "ci" / name).write_text("{", encoding="utf-8")
    found = timings.read(["ci/broken.json", "ci", str(tmp_path / "ci" / "broken.xml")], project=tmp_path)
    assert {problem.partition(":")[0] for problem in found.problems} == {"ci/broken.json", "ci/broken.xml"}


def test_a_path_outside_of_the_project_keeps_its_name(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "other.json").write_text("{}", encoding="utf-8")
    found = timings.read([tmp_path / "other.json"], project=tmp_path / "project")
    assert [problem.partition(":")[0] for problem in found.problems] == [str(tmp_path / "other.json")]


def test_the_command_says_what_it_did_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.json").write_text("[]", encoding="utf-8")
    assert main(["timings", "notes.json"], environ={}, project=tmp_path) == ExitCode.NOTHING_RAN
    assert capsys.readouterr().err.startswith("not read: notes.json: it is no file of `stackproof timings`")
