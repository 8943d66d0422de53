"""The program beside the stacks of a shared container: what it counts, and that it works nowhere else."""

from __future__ import annotations

import os
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


@pytest.mark.parametrize("holder", [None, str(os.getpid()), "none"])
def test_nobody_is_killed_where_nothing_holds_a_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holder: str | None
) -> None:
    monkeypatch.setattr(supervise, "FOLDER", tmp_path)
    monkeypatch.setattr(supervise, "_KILLED", 0.05)
    if holder is not None:
        (tmp_path / "holder").write_text(holder)
    with pytest.raises(SystemExit, match="nothing holds this container"):
        supervise._spared()
