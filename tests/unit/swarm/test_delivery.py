"""What a shard delivers is what somebody sent: all of it is checked before any of it counts."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from stackproof.errors import NotProvenError
from stackproof.swarm import delivery

WHOLE = {"outcome.json": b"{}", "result.json": b"{}"}


def archive(files: Mapping[str, bytes], *more: tarfile.TarInfo) -> io.BytesIO:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as opened:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            opened.addfile(entry, io.BytesIO(data))
        for entry in more:
            opened.addfile(entry)
    made.seek(0)
    return made


def special(name: str, kind: bytes) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, "/etc/passwd"
    return entry


def test_the_evidence_of_a_cell_comes_as_it_was_and_nothing_else_of_its_folder(tmp_path: Path) -> None:
    cell = tmp_path / "there"
    cell.mkdir()
    for name, data in {**WHOLE, "tests.jsonl": b"{}\n", "reference.sqlite": b"state"}.items():
        (cell / name).write_bytes(data)
    (cell / "stack.log").symlink_to("/etc/passwd")
    with delivery.packed(cell) as made:
        names = delivery.unpacked(made, tmp_path / "here", what="base 1/2")
    assert sorted(names) == ["outcome.json", "result.json", "tests.jsonl"]
    assert sorted(path.name for path in (tmp_path / "here").iterdir()) == sorted(names)
    assert (tmp_path / "here" / "tests.jsonl").read_bytes() == b"{}\n"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (archive({**WHOLE, "../result.json": b""}), r"holds '\.\./result\.json'"),
        (archive({**WHOLE, "/etc/passwd": b""}), "no evidence of a shard"),
        (archive({**WHOLE, "reference.sqlite": b""}), "no evidence of a shard"),
        (archive(WHOLE, special("stack.log", tarfile.SYMTYPE)), "no evidence of a shard"),
        (archive(WHOLE, special("stack.log", tarfile.LNKTYPE)), "no evidence of a shard"),
        (archive(WHOLE, special("stack.log", tarfile.FIFOTYPE)), "no evidence of a shard"),
        (archive(WHOLE, special("stack.log", tarfile.DIRTYPE)), "no evidence of a shard"),
        (archive({"outcome.json": b"{}"}), "says nothing of its end"),
        (io.BytesIO(b""), "no archive that can be read"),
        (io.BytesIO(b"no archive at all" * 100), "no archive that can be read"),
        (io.BytesIO(archive({**WHOLE, "junit.xml": b"x" * 9000}).getvalue()[:4000]), "no archive|cut"),
    ],
)
def test_what_no_shard_delivers_is_refused_and_leaves_nothing(content: io.BytesIO, says: str, tmp_path: Path) -> None:
    with pytest.raises(NotProvenError, match=says):
        delivery.unpacked(content, tmp_path / "cell", what="base 1/2")
    assert list(tmp_path.iterdir()) == []


def test_a_header_with_a_number_that_is_none_is_refused(tmp_path: Path) -> None:
    odd = tarfile.TarInfo("junit.xml")
    odd.pax_headers = {"GNU.sparse.size": "many"}
    with pytest.raises(NotProvenError, match="no archive that can be read"):
        delivery.unpacked(archive(WHOLE, odd), tmp_path / "cell", what="base 1/2")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_comes_twice_is_refused(tmp_path: Path) -> None:
    twice = tarfile.TarInfo("result.json")
    with pytest.raises(NotProvenError, match=r"result\.json"):
        delivery.unpacked(archive(WHOLE, twice), tmp_path / "cell", what="base 1/2")


def test_more_than_any_shard_has_is_refused_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "LARGEST", 100)
    with pytest.raises(NotProvenError, match="larger than"):
        delivery.unpacked(archive({**WHOLE, "junit.xml": b"x" * 200}), tmp_path / "cell", what="base 1/2")
    assert list(tmp_path.iterdir()) == []


def test_the_file_that_an_engine_hands_out_is_found_in_its_archive() -> None:
    outer = archive({"1.tar": b"inner"}).getvalue()
    with delivery.inner([outer[:700], outer[700:]]) as found:
        assert found.read() == b"inner"
    with pytest.raises(tarfile.TarError), delivery.inner([b""]):
        pass
