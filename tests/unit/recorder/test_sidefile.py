"""Large binary bodies lie beside their recording, move and go with it, and cannot be taken for something else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stackproof.recorder import recording
from stackproof.recorder.identity import Identity
from stackproof.recorder.recording import DamagedRecordingError, encode_body
from stackproof.recorder.scope import Scope
from stackproof.recorder.store import Store

LARGE = bytes(range(256)) * 512


def made(content: bytes) -> dict[str, Any]:
    request: dict[str, Any] = {"provider": "p", "method": "GET", "path": "/audio", "query": [], "body": None}
    body = encode_body("audio/mpeg", content)
    head = {"status": 200, "headers": {}, "is_streaming": False, "complete": True, "is_exception": False}
    response = {**head, "exception": None, "body": body}
    return {"format": 1, "test_id": "t", "scope": "t", "request": request, "response": response, "rules": []}


def body_of(path: Path) -> bytes:
    found = recording.read(str(path))
    assert found is not None
    return b"".join(recording.chunks_of(found["response"]))


def test_a_large_body_is_no_part_of_the_json_and_comes_back_exactly(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    recording.write(str(path), made(LARGE))
    beside = [item for item in tmp_path.iterdir() if item.suffix == ".bin"]
    assert [item.stat().st_size for item in beside] == [len(LARGE)]
    assert path.stat().st_size < 2000
    assert json.loads(path.read_text())["response"]["body"] == {"file": beside[0].name}
    assert body_of(path) == LARGE


def test_a_small_body_has_no_file_of_its_own(tmp_path: Path) -> None:
    recording.write(str(tmp_path / "a.json"), made(b"\xff\x00"))
    assert [item.name for item in tmp_path.iterdir()] == ["a.json"]
    assert body_of(tmp_path / "a.json") == b"\xff\x00"


def test_an_equal_body_leaves_both_files_untouched(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    assert recording.write(str(path), made(LARGE)) is True
    before = {item.name: item.stat().st_mtime_ns for item in tmp_path.iterdir()}
    assert recording.write(str(path), made(LARGE)) is False
    assert {item.name: item.stat().st_mtime_ns for item in tmp_path.iterdir()} == before


def test_another_body_replaces_the_file_and_a_small_one_removes_it(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    recording.write(str(path), made(LARGE))
    recording.write(str(path), made(LARGE[::-1]))
    assert len(list(tmp_path.glob("a.*.bin"))) == 1
    assert body_of(path) == LARGE[::-1]
    recording.write(str(path), made(b"\xff"))
    assert [item.name for item in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize("name", ["../secret.bin", "b.0123.bin", "a.json", "/etc/passwd"])
def test_a_name_that_leads_elsewhere_is_a_damaged_recording(tmp_path: Path, name: str) -> None:
    content = made(b"\xff")
    content["response"]["body"] = {"file": name}
    (tmp_path / "a.json").write_text(json.dumps(content))
    with pytest.raises(DamagedRecordingError, match="no file of this recording"):
        recording.read(str(tmp_path / "a.json"))


def test_a_missing_and_a_changed_file_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    recording.write(str(path), made(LARGE))
    (beside,) = tmp_path.glob("a.*.bin")
    beside.write_bytes(b"other")
    with pytest.raises(DamagedRecordingError, match="is not the one that was recorded"):
        recording.read(str(path))
    beside.unlink()
    with pytest.raises(DamagedRecordingError, match="cannot be read"):
        recording.read(str(path))


def test_promotion_takes_the_file_along_and_dropping_leaves_nothing(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "rec"), "s", str(tmp_path / "run"), "tests/integration")
    owner = Scope(name="tests/integration/base/test_a.py::test_a")
    identity = Identity(scope=owner.digest, request="a" * 64)
    store.stage(owner, identity.file_name(2), made(LARGE))
    assert store.promote(owner, replace=True) == (1, 0)
    folder = tmp_path / "rec" / "s" / "base"
    assert body_of(folder / identity.file_name(1)) == LARGE
    assert [item for item in (tmp_path / "run").rglob("*") if item.suffix in (".json", ".bin")] == []
    # What the test does not ask for again goes, with what lies beside it.
    assert store.promote(owner, replace=True) == (0, 1)
    assert list(folder.iterdir()) == []
    store.stage(owner, identity.file_name(1), made(LARGE))
    assert store.drop(owner) == 1
    assert [item for item in (tmp_path / "run").rglob("*") if item.suffix in (".json", ".bin")] == []
