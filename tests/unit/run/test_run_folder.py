"""Run folders are owned, kept for a while and swept."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

from stackproof.run import run_folder


def test_making_a_folder_keeps_version_control_away_and_writes_its_owner(tmp_path: Path) -> None:
    run_dir = tmp_path / ".stackproof" / "runs" / "aaaaaa"
    run_folder.make(run_dir)
    assert (tmp_path / ".stackproof" / ".gitignore").read_text() == "*\n"
    assert json.loads((run_dir / "owner.json").read_text())["pid"] == os.getpid()
    run_folder.release(run_dir)
    assert list(run_dir.iterdir()) == []


def test_the_oldest_folders_go_and_owned_ones_stay(tmp_path: Path) -> None:
    for number in range(6):
        (tmp_path / f"run{number}").mkdir()
        os.utime(tmp_path / f"run{number}", (1000 + number, 1000 + number))
    run_folder.make(tmp_path / "run0")
    os.utime(tmp_path / "run0", (1000, 1000))
    run_folder.prune(tmp_path, keep=3)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != ".gitignore") == [
        "run0",
        "run3",
        "run4",
        "run5",
    ]


def test_a_run_that_lives_or_belongs_to_another_host_is_not_swept(tmp_path: Path) -> None:
    run_folder.make(tmp_path / "mine")
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "owner.json").write_text(json.dumps({"host": "elsewhere", "pid": 999999, "started": 1}))
    assert run_folder.sweep(tmp_path) == ()
    assert (tmp_path / "mine" / "owner.json").exists()
    assert (tmp_path / "theirs" / "owner.json").exists()


def test_a_run_whose_process_id_belongs_to_somebody_else_now_is_dead(tmp_path: Path) -> None:
    (tmp_path / "dead").mkdir()
    owner = {"host": socket.gethostname(), "pid": os.getpid(), "started": 1}
    (tmp_path / "dead" / "owner.json").write_text(json.dumps(owner))
    assert run_folder.sweep(tmp_path) == ()
    assert not (tmp_path / "dead" / "owner.json").exists()


def test_a_run_that_never_began_leaves_no_folder_and_one_that_left_anything_keeps_it(tmp_path: Path) -> None:
    never, began = tmp_path / "aaaaaa", tmp_path / "bbbbbb"
    for run_dir in (never, began):
        run_dir.mkdir()
        (run_dir / run_folder.PLAN).write_text("{}")
    (began / "cells/base").mkdir(parents=True)
    for run_dir in (never, began, tmp_path / "none"):
        run_folder.forget(run_dir)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bbbbbb"]
    assert (began / run_folder.PLAN).read_text() == "{}"
