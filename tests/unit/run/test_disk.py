"""What is said of a file that the machine does not keep."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from stackproof import disk
from stackproof.errors import DiskError, ExitCode
from stackproof.evidence import jsonfile
from stackproof.recorder import recording


def _refused(number: int, path: Path | None, near: Path) -> DiskError:
    error = OSError(number, os.strerror(number)) if path is None else OSError(number, os.strerror(number), str(path))
    told = disk.refusal(error, near=near)
    assert told is not None
    assert told.exit_code is ExitCode.DISK
    assert int(told.exit_code) == 74
    return told


def test_no_room_names_the_file_and_how_much_is_free_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(total=400_000, free=12))
    told = _refused(errno.ENOSPC, tmp_path / "a/b/plan.json", tmp_path)
    assert told.message.startswith(
        f"{tmp_path}/a/b/plan.json cannot be written: No space left on device, 12 B of 400.0 kB"
    )
    assert " free on /" in told.message
    assert told.hint == "make room there"
    quota = _refused(errno.EDQUOT, tmp_path / "plan.json", tmp_path)
    assert "Disk quota exceeded, and 12 B of 400.0 kB free on /" in quota.message
    assert "quota raised" in (quota.hint or "")


def test_a_write_names_no_file_and_the_place_is_told_all_the_same(tmp_path: Path) -> None:
    told = _refused(errno.ENOSPC, None, tmp_path / ".stackproof/runs")
    assert told.message.startswith("a file of this run cannot be written: No space left on device, ")
    assert told.hint == "make room there: runs in .stackproof/runs that are no longer needed may go"


def test_a_file_here_is_named_as_it_is_typed_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert _refused(errno.EROFS, tmp_path / "recordings/x.json", tmp_path).message == (
        "recordings/x.json cannot be written: Read-only file system"
    )
    assert _refused(errno.ENOTDIR, tmp_path / "recordings/x.json", tmp_path).hint == (
        "a file lies where a folder has to be: move it away"
    )


def test_of_what_is_closed_the_owner_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.geteuid", lambda: 4_000_001)
    (tmp_path / "recordings").mkdir()
    told = _refused(errno.EACCES, tmp_path / "recordings/probe/x.json", tmp_path)
    assert told.message.startswith(
        "recordings/probe/x.json may not be read or written: Permission denied; recordings is "
    )
    assert told.message.endswith("'s, and this is user 4000001")
    assert "chown" in (told.hint or "")


def test_what_is_kept_is_told_last(tmp_path: Path) -> None:
    told = disk.refusal(OSError(errno.ENOSPC, ""), near=tmp_path, keep=disk.promote("abcdef"))
    assert told is not None
    assert (told.hint or "").splitlines()[-1].endswith("then: stackproof recordings promote abcdef")


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EMFILE, errno.EIO])
def test_what_is_no_matter_of_room_or_rights_is_not_called_so(tmp_path: Path, number: int) -> None:
    assert disk.refusal(OSError(number, os.strerror(number), "x"), near=tmp_path) is None


def test_a_folder_that_takes_files_is_left_as_it_was(tmp_path: Path) -> None:
    assert disk.probed(tmp_path) is None
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    told = disk.probed(tmp_path / "file")
    assert told is not None
    assert f"{tmp_path}/file cannot be written: Not a directory" in told.message


def _full(*_: object, **__: object) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_whoever_writes_names_the_file_and_leaves_no_half_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "plan.json"
    jsonfile.write(path, {"before": 1})
    ways: list[Callable[[], None]] = [
        lambda: jsonfile.write(path, {"after": 2}),
        lambda: recording.put(str(path), {"response": {}}),
    ]
    for write in ways:
        with monkeypatch.context() as patched:
            patched.setattr(os, "replace", _full)
            patched.setattr(Path, "replace", _full)
            with pytest.raises(OSError, match="No space left") as raised:
                write()
        assert raised.value.filename == str(path)
    assert [file.name for file in tmp_path.iterdir()] == ["plan.json"]
    assert jsonfile.read(path) == {"before": 1}
