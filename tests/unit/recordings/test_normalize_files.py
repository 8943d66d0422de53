"""`recordings normalize` on files: what it says, what it leaves, and that a second time there is nothing to do."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stackproof.cli import main as cli
from stackproof.errors import ExitCode
from stackproof.recorder import recording

Command = Callable[..., int]


def content(**response: Any) -> dict[str, Any]:
    """A whole recording."""
    return {
        "format": 1, "test_id": "tests/integration/a.py::test_a", "scope": "tests/integration/a.py::test_a",
        "request": {
            "provider": "p", "method": "POST", "url": "{P_URL}/chat/completions", "path": "/chat/completions",
            "query": [], "endpoint": "/chat/completions", "model": "m", "headers": {}, "body": {"json": {"model": "m"}},
        },
        "response": {
            "status": 200, "headers": {}, "is_streaming": False, "body": None, "complete": True,
            "is_exception": False, "exception": None, **response,
        },
        "rules": [], "provenance": {}, "id_normalization_mapping": {},
    }  # fmt: skip


@pytest.fixture(name="command")
def _command(tmp_path: Path) -> Command:
    """The command in a project with a good file, an old one, one that somebody indented, and one with a large body."""
    folder = tmp_path / "recordings/s"
    folder.mkdir(parents=True)
    recording.write(str(folder / "1.json"), content())
    old = content(headers={"date": "today"}, body={"json": {"object": "chat.completion", "id": "c-1", "created": 5}})
    recording.write(str(folder / "2.json"), old)
    (folder / "3.json").write_text(json.dumps(content(), indent=4))
    recording.write(str(folder / "4.json"), content(body={"bytes": b"\xff\x00" * 40_000}))
    return lambda *argv: cli.main(["recordings", "normalize", *argv], environ={}, project=tmp_path)


def files(tmp_path: Path) -> dict[str, tuple[bytes, int]]:
    """Every file's content and time."""
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in (tmp_path / "recordings").rglob("*.*")}


def test_a_dry_run_says_what_would_change_and_changes_nothing(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files(tmp_path)
    assert command("--dry-run") == ExitCode.PASS
    assert files(tmp_path) == before
    assert capsys.readouterr().out == (
        "recordings/s/2.json\n"
        "  response-headers: response.headers.date\n"
        "  completion-created: response.body.json.created\n"
        "recordings/s/3.json\n"
        "  layout\n"
        "Summary: 2/4 files would be modified\n"
    )


def test_a_second_run_changes_nothing_and_side_files_stay(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files(tmp_path)
    assert command() == ExitCode.PASS
    once = files(tmp_path)
    assert {name for name in once if once[name] != before[name]} == {"2.json", "3.json"}
    assert once["3.json"][0] == once["1.json"][0]
    assert len([name for name in once if name.endswith(".bin")]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "Summary: 2/4 files modified"
    assert command() == ExitCode.PASS
    assert files(tmp_path) == once
    assert capsys.readouterr().out == "Summary: 0/4 files modified\n"


def test_a_large_body_in_the_file_itself_moves_beside_it(command: Command, tmp_path: Path) -> None:
    command()
    path = tmp_path / "recordings/s/4.json"
    (side,) = path.parent.glob("4.*.bin")
    raw = json.loads(path.read_text())
    whole = recording.read(str(path))
    raw["response"]["body"] = {"base64": b64encode(side.read_bytes()).decode()}
    path.write_text(recording.dumps(raw))
    side.unlink()
    assert command() == ExitCode.PASS
    assert side.is_file()
    assert recording.read(str(path)) == whole


def test_damage_is_named_and_left_and_ends_with_its_own_code(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "recordings/s/1.json"
    path.write_text("{ half")
    assert command() == ExitCode.RECORDINGS
    out = capsys.readouterr().out
    assert "✗ recordings/s/1.json cannot be read as a recording" in out
    assert out.endswith("Summary: 2/4 files modified\n")
    assert path.read_text() == "{ half"


def test_json_tells_the_same(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("--json", "--dry-run") == ExitCode.PASS
    told = json.loads(capsys.readouterr().out)
    assert (told["schema"], told["dry_run"], told["total"], told["modified"]) == (1, True, 4, 2)
    assert told["files"][1] == {
        "file": "recordings/s/3.json",
        "changes": [{"rule": "layout", "path": "", "count": 1}],
    }


def test_a_filter_narrows(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("--test", "tests/integration/b.py") == ExitCode.PASS
    assert capsys.readouterr().out == "Summary: 0/0 files modified\n"
