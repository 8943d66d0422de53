"""What tests wrote in a container that sees no folder: all of it comes out, or the run says that it did not."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from stackproof.errors import DockerError
from stackproof.stack.apart import Apart, Baggage
from stackproof.stack.kept import Kept
from stackproof.stack.luggage import Folder


def archive(folder: str, files: Mapping[str, str]) -> bytes:
    spool = io.BytesIO()
    with tarfile.open(fileobj=spool, mode="w") as opened:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size = len(text)
            opened.addfile(entry, io.BytesIO(text.encode()))
    return spool.getvalue()


class Engine:
    """Has the archives of folders, by their paths."""

    def __init__(self, **archives: bytes) -> None:
        self._archives = archives

    def get(self, _: str, path: str) -> Iterator[bytes] | None:
        """One archive, in one piece."""
        found = self._archives.get(Path(path).name)
        return None if found is None else iter([found])


def brought(tmp_path: Path, engine: Any, *, with_tests: bool = True) -> Apart:
    cell, recordings = tmp_path / "cell", tmp_path / "recordings"
    for folder in (cell, recordings):
        folder.mkdir()
    (recordings / "old.json").write_text("old")
    kept = Kept(Folder(path=recordings, files=[recordings / "old.json"])) if with_tests else None
    apart = Apart(engine, Baggage(folders=(), owner=(0, 0)), cell_dir=cell, with_tests=with_tests, kept=kept)
    apart.bring("container")
    return apart


def test_recordings_come_with_the_report(tmp_path: Path) -> None:
    engine = Engine(
        cell=archive("cell", {"junit.xml": "report", "tests.jsonl": "one\n"}),
        recordings=archive("recordings", {"local/new.json": "new"}),
    )
    brought(tmp_path, engine).require("pytest")
    assert (tmp_path / "cell/junit.xml").read_text() == "report"
    assert (tmp_path / "cell/tests.jsonl").read_text() == "one\n"
    assert [path.name for path in (tmp_path / "recordings").rglob("*.json")] == ["new.json"]


@pytest.mark.parametrize("whole", ["cell", "recordings"])
def test_where_one_archive_is_cut_no_recording_changes(tmp_path: Path, whole: str) -> None:
    archives = {
        "cell": archive("cell", {"junit.xml": "report"}),
        "recordings": archive("recordings", {"local/new.json": "new", "big.json": "x" * 5000}),
    }
    engine = Engine(**{name: data if name == whole else data.rstrip(b"\0")[:-100] for name, data in archives.items()})
    with pytest.raises(DockerError, match="not all that pytest wrote in its container came out of it"):
        brought(tmp_path, engine).require("pytest")
    assert [path.name for path in (tmp_path / "recordings").rglob("*")] == ["old.json"]


def test_a_container_that_somebody_removed_is_told(tmp_path: Path) -> None:
    with pytest.raises(DockerError, match="the container is gone"):
        brought(tmp_path, Engine()).require("pytest")
    assert (tmp_path / "recordings/old.json").exists()
