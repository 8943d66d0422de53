"""Artifacts by the rules of GitHub's service."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from ci.rehearsal.artifacts import ArtifactError, Store, select
from ci.rehearsal.contexts import hash_files
from ci.rehearsal.expressions import ExpressionError


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    for name in (".out/runs/r1/a.txt", ".out/runs/r1/.hidden", ".out/runs/r2/b/c.txt", "d.txt", "sub/e.txt"):
        path = tmp_path / "work" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path / "work"


@pytest.mark.parametrize(
    ("patterns", "hidden", "files", "root"),
    [
        ("d.txt", False, ["d.txt"], "."),
        ("sub", False, ["e.txt"], "sub"),
        ("sub/", False, ["e.txt"], "sub"),
        # Only what is asked for by a hidden name counts as hidden, not what is above it.
        (".out/runs", False, ["r1/a.txt", "r2/b/c.txt"], ".out/runs"),
        (".out/runs", True, ["r1/.hidden", "r1/a.txt", "r2/b/c.txt"], ".out/runs"),
        (".out", False, [], ".out"),
        (".out/**", False, [], ".out"),
        (".out/runs/*/b", True, ["r2/b/c.txt"], ".out/runs"),
        ("d.txt\nsub/e.txt", False, ["d.txt", "sub/e.txt"], "."),
        ("**/*.txt\n!sub/**", False, ["d.txt"], "."),
        ("nothing", False, [], "nothing"),
    ],
)
def test_patterns_choose_files_and_the_folder_that_paths_start_at(
    workspace: Path, patterns: str, hidden: bool, files: list[str], root: str
) -> None:
    selected = select(patterns, workspace, hidden=hidden)
    assert selected.root == Path(os.path.normpath(workspace / root))
    assert [path.relative_to(selected.root).as_posix() for path in selected.files] == files


def test_what_is_kept_comes_out_without_the_right_to_execute_it(workspace: Path, tmp_path: Path) -> None:
    store = Store(folder=tmp_path / "store")
    (workspace / "sub/e.txt").chmod(0o755)
    store.keep(1, "one", select("sub", workspace, hidden=False), overwrite=False)
    store.take(1, "one", tmp_path / "to")
    assert (tmp_path / "to/e.txt").read_text() == "sub/e.txt"
    assert not os.access(tmp_path / "to/e.txt", os.X_OK)


def test_several_artifacts_lie_in_folders_of_their_names_and_a_single_one_does_not(
    workspace: Path, tmp_path: Path
) -> None:
    store = Store(folder=tmp_path / "store")
    store.keep(1, "evidence-a", select("sub", workspace, hidden=False), overwrite=False)
    assert store.take_many(1, "evidence-*", tmp_path / "single", merge=False) == ["evidence-a"]
    store.keep(1, "evidence-b", select("d.txt", workspace, hidden=False), overwrite=False)
    store.keep(1, "other", select("d.txt", workspace, hidden=False), overwrite=False)
    assert store.take_many(1, "evidence-*", tmp_path / "both", merge=False) == ["evidence-a", "evidence-b"]
    store.take_many(1, "evidence-*", tmp_path / "merged", merge=True)
    laid_out = {
        path.relative_to(tmp_path).as_posix()
        for path in tmp_path.glob("[sbm][ioe]*/**/*.txt")
        if "store" not in path.parts
    }
    assert laid_out == {
        "single/e.txt",
        "both/evidence-a/e.txt",
        "both/evidence-b/d.txt",
        "merged/e.txt",
        "merged/d.txt",
    }


@pytest.mark.parametrize("name", ["a/b", "a:b", "a\\b", 'a"b', "a*b", "a\nb", ""])
def test_a_name_with_a_sign_that_the_service_refuses_is_refused(workspace: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(ArtifactError):
        Store(folder=tmp_path / "store").keep(1, name, select("sub", workspace, hidden=False), overwrite=False)


def test_a_path_with_such_a_sign_is_refused_and_nothing_is_kept(workspace: Path, tmp_path: Path) -> None:
    (workspace / "sub/test_a.py::test_b").write_text("x")
    store = Store(folder=tmp_path / "store")
    with pytest.raises(ArtifactError, match=re.escape("the path 'test_a.py::test_b' has the sign ':'")):
        store.keep(1, "one", select("sub", workspace, hidden=False), overwrite=False)
    assert store.names(1) == []


def test_a_second_artifact_of_a_name_is_refused_unless_it_replaces(workspace: Path, tmp_path: Path) -> None:
    store, files = Store(folder=tmp_path / "store"), select("sub", workspace, hidden=False)
    store.keep(1, "one", files, overwrite=False)
    with pytest.raises(ArtifactError, match="409"):
        store.keep(1, "one", files, overwrite=False)
    store.keep(1, "one", files, overwrite=True)
    store.keep(2, "one", files, overwrite=False)
    with pytest.raises(ArtifactError, match="'two' was not found; there are: one"):
        store.take(1, "two", tmp_path / "to")


def test_files_have_one_digest_and_none_have_none(workspace: Path) -> None:
    ask = hash_files(workspace)
    assert ask(["d.txt"]) == ask(["d.txt", "nothing"]) != ask(["**/*.txt"])
    assert len(str(ask(["d.txt"]))) == 64
    assert ask(["nothing"]) == ""
    with pytest.raises(ExpressionError):
        ask([])
