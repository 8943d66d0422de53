"""The program beside the stacks of a shared container: what it counts, and that it works nowhere else."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from stackproof.stack import enter, supervise

V1 = "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"
V2 = "low 0\nhigh 0\nmax 12\noom 2\noom_kill 2\n"


def test_both_programs_speak_of_the_same_folder() -> None:
    assert Path(enter.FOLDER) == supervise.FOLDER
    assert Path(enter.FOLDER) / "holder" == enter.HOLDER


@pytest.mark.parametrize(("text", "count"), [(V1, 3), (V2, 2), (None, 0), ("oom 2\n", 0)])
def test_what_the_kernel_counted_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, count: int
) -> None:
    if text is not None:
        (tmp_path / "counts").write_text(text)
    monkeypatch.setattr(supervise, "_COUNTS", (str(tmp_path / "nothing"), str(tmp_path / "counts")))
    assert supervise.out_of_memory() == count


@pytest.mark.parametrize("holder", [None, str(os.getpid()), "none"], ids=["nothing", "itself", "no number"])
def test_nobody_is_killed_where_nothing_holds_a_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holder: str | None
) -> None:
    monkeypatch.setattr(supervise, "FOLDER", tmp_path)
    monkeypatch.setattr(supervise, "_KILLED", 0.05)
    if holder is not None:
        (tmp_path / "holder").write_text(holder)
    with pytest.raises(SystemExit, match="nothing holds this container"):
        supervise._spared()


def _until_later(path: Path, since: int) -> None:
    """Until the file system's clock has moved on, which is as exact as the file system is."""
    deadline = time.monotonic() + 60
    path.touch()
    while path.stat().st_ctime_ns <= since:
        assert time.monotonic() < deadline
        path.chmod(0o600)


def test_files_that_are_not_as_they_were_are_found(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    for name in ("old/kept", "gone/was", "package/module.py", "new/there"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
    since = max(path.stat().st_ctime_ns for path in tmp_path.rglob("*"))
    assert supervise.changed(tmp_path, since) == []
    _until_later(tmp_path_factory.mktemp("clock") / "file", since)
    (tmp_path / "gone/was").unlink()
    (tmp_path / "package/__pycache__").mkdir()
    (tmp_path / "package/__pycache__/module.pyc").touch()
    (tmp_path / "new/file").touch()
    (tmp_path / "old/kept").write_text("x")
    names = [str(tmp_path / name) for name in ("gone", "new/file", "old/kept")]
    assert supervise.changed(tmp_path, since) == names
