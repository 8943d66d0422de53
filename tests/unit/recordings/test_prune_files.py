"""How prune removes files: whole ones, only as they were when they were looked at, and folders that are left empty."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from stackproof.errors import UsageError
from stackproof.evidence import testlog
from stackproof.recorder import recording, sidefile
from stackproof.recorder.mode import Mode
from stackproof.recordings import pruning
from stackproof.recordings.findings import Kind
from stackproof.recordings.observed import Observed
from stackproof.recordings.pruning import Removal
from stackproof.recordings.usage import Usage
from stackproof.run import run_folder

if TYPE_CHECKING:
    from stackproof.recordings.disuse import Disuse


def removal(path: Path, root: Path, kind: Kind = Kind.UNUSED) -> Removal:
    """What a walk picks, as the file is now."""
    found = path.stat()
    return Removal(
        path=path, name=path.relative_to(root).as_posix(), kind=kind, scope="t", why="w",
        state=(found.st_size, found.st_mtime_ns),
    )  # fmt: skip


def content(size: int = 0) -> dict[str, Any]:
    """A recording; with a body of its own file where it is large."""
    body = {"bytes": bytes(size)} if size else None
    head = {"status": 200, "headers": {}, "complete": True, "is_exception": False}
    return {"format": 1, "scope": "t", "request": {}, "response": {**head, "body": body}}


def test_a_recording_goes_with_its_body_and_its_empty_folders_and_nothing_else(tmp_path: Path) -> None:
    gone, kept = tmp_path / "s/a/b/1.json", tmp_path / "s/2.json"
    for path in (gone, kept):
        recording.write(str(path), content(sidefile.LIMIT + 1))
    assert len(list(gone.parent.iterdir())) == 2
    (one,) = pruning.remove([removal(gone, tmp_path)], tmp_path)
    assert one.name == "s/a/b/1.json"
    assert not (tmp_path / "s/a").exists()
    assert recording.read(str(kept)) is not None


def test_a_file_that_was_written_since_stays(tmp_path: Path) -> None:
    path = tmp_path / "s/1.json"
    recording.write(str(path), content())
    seen = removal(path, tmp_path)
    path.write_text("something else")
    assert list(pruning.remove([seen], tmp_path)) == []
    assert path.exists()
    path.unlink()
    assert list(pruning.remove([seen], tmp_path)) == []
    assert path.parent.exists()


def test_an_interrupt_leaves_whole_files_only(tmp_path: Path) -> None:
    paths = [tmp_path / f"s/{number}.json" for number in range(3)]
    for path in paths:
        recording.write(str(path), content(sidefile.LIMIT + 1))
    removing = pruning.remove([removal(path, tmp_path) for path in paths], tmp_path)
    assert next(removing).path == paths[0]
    with pytest.raises(KeyboardInterrupt):
        removing.throw(KeyboardInterrupt)
    assert [path.exists() for path in paths] == [False, True, True]
    assert all(recording.read(str(path)) is not None for path in paths[1:])


def test_the_last_folder_of_a_setup_goes_and_the_root_stays(tmp_path: Path) -> None:
    path = tmp_path / "recordings/s/1.json"
    recording.write(str(path), content())
    assert len(list(pruning.remove([removal(path, tmp_path / "recordings")], tmp_path / "recordings"))) == 1
    assert [item.name for item in tmp_path.iterdir()] == ["recordings"]


def test_nothing_goes_while_a_run_goes_on(tmp_path: Path) -> None:
    run = tmp_path / ".stackproof/runs/abcdef"
    pruning.refuse_while_running(tmp_path)
    run_folder.make(run)
    with pytest.raises(UsageError, match="run abcdef is in progress, so nothing is removed"):
        pruning.refuse_while_running(tmp_path)
    run_folder.release(run)
    pruning.refuse_while_running(tmp_path)


def test_a_run_that_was_killed_stops_nobody(tmp_path: Path) -> None:
    run = tmp_path / ".stackproof/runs/abcdef"
    run_folder.make(run)
    owner = json.loads((run / "owner.json").read_text())
    (run / "owner.json").write_text(json.dumps({**owner, "started": owner["started"] + 1}))
    pruning.refuse_while_running(tmp_path)


def test_a_pytest_that_was_called_alone_is_seen_while_it_runs(tmp_path: Path) -> None:
    cell = tmp_path / ".stackproof/runs/abcdef/cells/base-ollama-library-reference"
    cell.mkdir(parents=True)
    sleeping = [sys.executable, "-c", "import time; time.sleep(600)", "pytest"]
    with subprocess.Popen(sleeping, stdout=subprocess.DEVNULL) as process:
        try:
            (cell / "cell.json").write_text(json.dumps({"orchestrator": process.pid}))
            _wait_until_it_has_its_command(process.pid)
            with pytest.raises(UsageError, match="run abcdef is in progress"):
                pruning.refuse_while_running(tmp_path)
            (cell / "tests.jsonl").write_text('{"event": "finished", "exitstatus": 0}\n')
            pruning.refuse_while_running(tmp_path)
            (cell / "tests.jsonl").unlink()
        finally:
            process.kill()
    pruning.refuse_while_running(tmp_path)


def _wait_until_it_has_its_command(pid: int) -> None:
    deadline = time.monotonic() + 60
    while b"pytest" not in Path(f"/proc/{pid}/cmdline").read_bytes():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _ran(tmp_path: Path, run: str, stack: str) -> Observed:
    """A run of a part of the suite, from recordings."""
    return Observed(
        run=run, cell="c", folder=tmp_path / run / "cells/c", setup="gpt", suite="base", stack=stack, mode=Mode.REPLAY,
        began=1.0, ended=2.0, local=run != "ffffff", narrowed=True, root="/r", recordings=None, suite_digest=None,
        log=testlog.read(tmp_path / "none.jsonl"),
    )  # fmt: skip


def test_why_a_stack_has_to_be_seen_is_told_and_how_it_is_forgotten(tmp_path: Path) -> None:
    usage = Usage(
        project=tmp_path, suites={"base": ("tests/base",)}, recordings_digest=str, suite_digest=str,
        recorded=lambda *_: True,
    )  # fmt: skip
    picked = pruning.Picked(changed={("gpt", "base"): 10.0})
    evidence = cast("Disuse", SimpleNamespace(usage=usage))
    with pytest.raises(UsageError, match="has not run in full from the recordings of gpt") as raised:
        pruning.refuse_unobserved(picked, evidence, {}, "stackproof run")
    assert raised.value.hint == "run it: stackproof run --suite base --setup gpt"

    usage.expected["base", "gpt"] = {"library:desk"}
    usage.listed.add(("base", "gpt", "library:desk"))
    runs = ["aaaaaa", "bbbbbb", "cccccc", "ffffff"]
    usage.take_in([_ran(tmp_path, "dddddd", "library:desk"), *(_ran(tmp_path, run, "server:old") for run in runs)])
    with pytest.raises(UsageError, match="in full on library:desk and server:old from") as raised:
        pruning.refuse_unobserved(picked, evidence, {}, "stackproof run")
    assert (raised.value.hint or "").splitlines() == [
        "library:desk: ci/release.yaml lists it, so what it asks for has to be seen first:",
        "  stackproof run --suite base --setup gpt --stack-config library:desk",
        "server:old: run aaaaaa used it, so what it asks for has to be seen first:",
        "  stackproof run --suite base --setup gpt --stack-config server:old",
        (
            "  or, where server:old is used no more, forget what it ran: rm -r .stackproof/runs/aaaaaa "
            f".stackproof/runs/bbbbbb .stackproof/runs/cccccc {tmp_path}/ffffff"
        ),
    ]
    pruning.refuse_unobserved(picked, evidence, {"other": ()}, "stackproof run")
