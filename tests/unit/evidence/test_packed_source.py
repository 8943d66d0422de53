"""Which commit files are that were packed without their repository."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from stackproof.evidence import git
from stackproof.evidence.git import SourceState

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def repository(folder: Path) -> None:
    for words in (["init", "-q"], ["config", "user.email", "a@b.c"], ["config", "user.name", "a"]):
        subprocess.run(["git", "-C", str(folder), *words], check=True)


def commit(folder: Path) -> None:
    for words in (["add", "-A"], ["commit", "-q", "-m", "a"]):
        subprocess.run(["git", "-C", str(folder), *words], check=True)


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # A repository that the temporary folder happens to lie in is none of ours.
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))


@pytest.mark.parametrize("dirty", [False, True])
def test_what_packed_them_says_of_which_commit_they_are(tmp_path: Path, dirty: bool) -> None:
    state = SourceState(commit=COMMIT, dirty=dirty)
    (tmp_path / git.PACKED).write_bytes(git.packed(state))
    assert git.state(tmp_path) == state


def test_a_repository_knows_better(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / git.PACKED).write_bytes(git.packed(SourceState(commit=COMMIT)))
    assert git.state(tmp_path) == SourceState()  # nothing is committed yet
    commit(tmp_path)
    found = git.state(tmp_path).commit
    assert found is not None
    assert found != COMMIT


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": 2, "commit": "abc", "dirty": false}', '{"schema": 1}'])
def test_a_file_that_says_nothing_of_the_kind_is_no_commit(tmp_path: Path, text: str) -> None:
    (tmp_path / git.PACKED).write_text(text)
    assert git.state(tmp_path) == SourceState()


def test_what_is_not_said_to_be_clean_is_not(tmp_path: Path) -> None:
    (tmp_path / git.PACKED).write_text('{"schema": 1, "commit": "abc"}')
    assert git.state(tmp_path) == SourceState(commit="abc", dirty=True)


def test_only_files_that_git_keeps_are_packed(tmp_path: Path) -> None:
    assert git.tracked(tmp_path) is None
    repository(tmp_path)
    for name in ("kept.py", "gone.py", "a b/é.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / ".gitignore").write_text(".env\n")
    (tmp_path / ".env").write_text("PASSWORD=x")
    commit(tmp_path)
    (tmp_path / "gone.py").unlink()
    (tmp_path / "new.py").write_text("x")
    found = git.tracked(tmp_path)
    assert found is not None
    assert [path.relative_to(tmp_path).as_posix() for path in found] == [".gitignore", "a b/é.json", "kept.py", "link"]


def test_of_a_project_inside_a_repository_its_own_files(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a.py").write_text("x")
    (tmp_path / "b.py").write_text("x")
    commit(tmp_path)
    assert git.tracked(tmp_path / "project") == (tmp_path / "project" / "a.py",)
