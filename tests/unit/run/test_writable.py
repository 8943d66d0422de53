"""Asking whether recordings can be written changes nothing, also when several ask at once."""

from __future__ import annotations

import errno
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from stackproof.errors import DiskError, ExitCode, RecordingError
from stackproof.run import writable


def test_folders_that_are_missing_are_neither_made_nor_complained_of(tmp_path: Path) -> None:
    writable.require(tmp_path / "recordings", "ollama")

    assert list(tmp_path.iterdir()) == []


def test_many_may_ask_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        for asked in [pool.submit(writable.require, tmp_path / "recordings", "ollama") for _ in range(400)]:
            asked.result()

    assert list(tmp_path.iterdir()) == []


def test_one_may_ask_while_another_has_begun_to_write(tmp_path: Path) -> None:
    folder = tmp_path / "recordings" / "ollama"

    def come_and_go() -> None:
        for _ in range(300):
            folder.mkdir(parents=True)
            folder.rmdir()
            folder.parent.rmdir()

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(come_and_go)
        while not other.done():
            writable.require(tmp_path / "recordings", "ollama")
        # What the other one made may hold a folder of ours for an instant, which is then not empty.
        assert other.exception() is None or isinstance(other.exception(), OSError)


def test_a_file_in_the_place_of_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "recordings").write_text("not a folder", encoding="utf-8")

    with pytest.raises(RecordingError, match=r"recordings/ollama: Not a directory"):
        writable.require(tmp_path / "recordings", "ollama")


@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC, errno.EACCES, errno.EDQUOT])
def test_what_the_disk_refuses_is_no_fault_of_the_recordings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*_: object, **__: object) -> str:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    with pytest.raises(DiskError, match=f"recordings/ollama: {os.strerror(number)}") as found:
        writable.require(tmp_path / "recordings", "ollama")
    assert found.value.exit_code is ExitCode.DISK


def test_a_folder_that_comes_and_goes_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, gone = tempfile.mkdtemp, iter(range(50))

    def sometimes(*, dir: Path, prefix: str) -> str:  # noqa: A002 - as tempfile has it
        if next(gone, None) is not None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        return real(dir=dir, prefix=prefix)

    monkeypatch.setattr(tempfile, "mkdtemp", sometimes)
    (tmp_path / "ollama").mkdir()
    writable.require(tmp_path, "ollama")
    assert next(gone, None) is None
