"""The folder of the way into a container goes with its process, whatever happens to that."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from stackproof.run import way


def test_what_a_killed_process_left_goes_and_what_a_living_one_has_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "stackproof-way-4194305-1-abc").mkdir()
    (tmp_path / "stackproof-way-4194305-1-abc/way").touch()
    (tmp_path / "stackproof-way-of-others-x").mkdir()
    with way.folder() as outer, way.folder() as inner:
        there = {path.name for path in tmp_path.iterdir()}
        assert there == {outer.name, inner.name, "stackproof-way-of-others-x"}
    assert [path.name for path in tmp_path.iterdir()] == ["stackproof-way-of-others-x"]
