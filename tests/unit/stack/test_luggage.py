"""What goes into a container that sees no folder, and what comes out: complete, owned, and never half."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from stackproof.stack import luggage
from stackproof.stack.received import Received

ROOT = "tests/integration"


def tree(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)


@pytest.fixture
def recordings(tmp_path: Path) -> Path:
    root = tmp_path / "recordings"
    tree(
        root,
        "ollama/common/models.json",
        "ollama/of-the-root.json",
        "ollama/base/a.json",
        "ollama/base/deep/b.json",
        "ollama/responses/c.json",
        "ollama/base/.a.json.tmp",
        "vllm/base/d.json",
    )
    return root


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["tests/integration/base"], {"of-the-root", "base/a", "base/deep/b", "common/models"}),
        (["tests/integration/base/deep/test_it.py::test_x"], {"of-the-root", "base/a", "base/deep/b", "common/models"}),
        (["tests/integration/responses/"], {"of-the-root", "responses/c", "common/models"}),
        (["tests/integration"], {"of-the-root", "base/a", "base/deep/b", "responses/c", "common/models"}),
        (["tests/integration/nothing-recorded"], {"of-the-root", "common/models"}),
    ],
)
def test_recordings_of_a_suite_are_its_folders_those_above_and_the_common_ones(
    recordings: Path, paths: list[str], expected: set[str]
) -> None:
    found = luggage.recordings(recordings, "ollama", paths, ROOT)
    assert found.path == recordings
    assert {str(path.relative_to(recordings / "ollama").with_suffix("")) for path in found.files} == expected


def test_what_python_compiles_meanwhile_stays_here(tmp_path: Path) -> None:
    compiled = (f"recorder/__pycache__/brain.cpython-311.pyc{more}" for more in ("", ".140234"))
    tree(tmp_path, "enter.py", "recorder/brain.py", *compiled)
    found = luggage.everything(tmp_path)
    assert [path.relative_to(tmp_path).as_posix() for path in found.files] == ["enter.py", "recorder/brain.py"]


def test_files_keep_their_paths_and_get_their_owner_and_an_empty_folder_goes_in_too(tmp_path: Path) -> None:
    tree(tmp_path / "guest", "enter.py", "recorder/brain.py")
    (tmp_path / "recordings").mkdir()
    empty = luggage.recordings(tmp_path / "recordings", "ollama", [ROOT], ROOT)
    with (
        luggage.packed([luggage.everything(tmp_path / "guest"), empty], owner=(1234, 56)) as archive,
        tarfile.open(fileobj=archive) as opened,
    ):
        found = {f"/{entry.name}": entry for entry in opened}
    assert {path for path, entry in found.items() if entry.isreg()} == {
        str(tmp_path / "guest/enter.py"),
        str(tmp_path / "guest/recorder/brain.py"),
    }
    assert found[str(tmp_path / "recordings")].isdir()
    assert {(entry.uid, entry.gid) for entry in found.values()} == {(1234, 56)}
    # What is above exists in the image, perhaps with rights of its own.
    assert str(tmp_path) not in found


def outside(**files: str) -> bytes:
    spool = io.BytesIO()
    with tarfile.open(fileobj=spool, mode="w") as archive:
        for name, text in {name.replace("__", "/"): text for name, text in files.items()}.items():
            entry = tarfile.TarInfo(f"cell/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return spool.getvalue()


def pieces(data: bytes, size: int = 700) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def test_what_comes_out_is_added_to_what_is_there(tmp_path: Path) -> None:
    received = Received(tmp_path)
    (tmp_path / "kept").write_text("ours")
    received.grown("calls.jsonl", 0, b"one\n")
    archive = outside(
        **{"calls.jsonl": "one\ntwo\n", "kept": "theirs", "state__db": "x" * 5000, "guest__enter.py": "y"}
    )
    luggage.unpack(pieces(archive), received)
    assert (tmp_path / "calls.jsonl").read_text() == "one\ntwo\n"
    assert (tmp_path / "kept").read_text() == "ours"
    assert (tmp_path / "state/db").read_text() == "x" * 5000
    assert not (tmp_path / "guest").exists()


@pytest.mark.parametrize("left", [100, 3000, -20_000, 0])
def test_an_archive_that_is_cut_is_never_taken_for_a_whole_one(tmp_path: Path, left: int) -> None:
    archive = outside(big="x" * 30_000, other="y" * 3000)
    whole = archive.rstrip(b"\0")
    with pytest.raises((tarfile.TarError, OSError)):
        luggage.unpack(pieces(whole[:left] if left else whole[: len(whole) // 1024 * 512]), Received(tmp_path))


def test_the_one_file_of_an_archive_is_read_and_no_archive_is_nothing() -> None:
    assert luggage.only_file(pieces(outside(nonce="abc"))) == b"abc"
    assert luggage.only_file([b"no archive at all"]) == b""
    assert luggage.only_file([]) == b""
