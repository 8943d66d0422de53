"""Several processes that write one trace, and those who read it meanwhile."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.unit.trace.conftest import ANSWER, Scripted, Talk

from stackproof.trace import RecordingModelClient, TraceBusyError, TraceFileError, read
from stackproof.trace.appending import Appender
from stackproof.trace.locking import writing
from stackproof.trace.migrating import migrate

_WRITER = """
import asyncio, sys
from stackproof.trace import CancelToken, Completed, ModelRequest, RecordingModelClient, TextDelta

class Inner:
    async def stream(self, request, cancel):
        yield TextDelta(text=request.instructions * 2000)
        yield Completed()

async def main():
    path, name, count = sys.argv[1:]
    client = RecordingModelClient(Inner(), path, conversation=name)
    sys.stdin.readline()
    for step in range(int(count)):
        history = ({"role": "user", "content": name * 5000},)
        request = ModelRequest(instructions=name, history=history, step_sequence=step)
        async for _ in client.stream(request, CancelToken()):
            pass

asyncio.run(main())
"""


def test_two_processes_append_whole_lines_each_in_its_order_under_one_header(path: Path, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(_WRITER)
    writers = [
        subprocess.Popen(
            [sys.executable, str(program), str(path), name, "40"],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in "abc"
    ]
    time.sleep(1)  # all of them have looked, and found no file
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()
    sizes = []
    while any(writer.poll() is None for writer in writers):
        if path.exists():
            contents = read(path)  # never a line that is half written
            assert contents.damage is None
            sizes.append(len(contents.lines))
        time.sleep(0.01)
    for writer in writers:
        _, told = writer.communicate(timeout=300)
        assert writer.returncode == 0, told
    exchanges = [line.exchange for line in read(path).lines]
    assert sizes == sorted(sizes)
    for name in "abc":
        steps = [
            one.request["step_sequence"]
            for one in exchanges
            if one is not None and one.request is not None and one.conversation == name
        ]
        assert steps == list(range(40))
    assert len(exchanges) == 120
    assert {item.name for item in tmp_path.iterdir()} == {path.name, "program.py"}


def test_two_clients_in_one_process_take_turns(path: Path, talk: Talk) -> None:
    one, other = RecordingModelClient(Scripted(), path), RecordingModelClient(Scripted(), path)
    for client in (one, other, one, one, other):
        talk.say(client, "Oslo?")
    assert [line.exchange is not None for line in read(path).lines] == [True] * 5


def test_who_waits_too_long_for_the_lock_is_told_and_writes_nothing(path: Path, talk: Talk) -> None:
    talk.say(RecordingModelClient(Scripted(), path), "Oslo?")
    before, appender = path.read_bytes(), Appender(path, patience=0.05)
    with path.open("rb") as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        with pytest.raises(TraceBusyError, match="held by another process for too long"):
            appender.append({})
        with pytest.raises(TraceBusyError):
            read(path, patience=0.05)
    assert path.read_bytes() == before


def test_readers_do_not_wait_for_each_other(path: Path, talk: Talk) -> None:
    talk.say(RecordingModelClient(Scripted(), path), "Oslo?")
    with path.open("rb") as holder:
        fcntl.flock(holder, fcntl.LOCK_SH)
        assert len(read(path, patience=0).lines) == 1


def test_a_writer_that_waited_while_the_file_was_replaced_writes_into_the_new_one(path: Path, talk: Talk) -> None:
    talk.say(RecordingModelClient(Scripted(), path), "Oslo?")
    code = (
        "import sys; from pathlib import Path; from stackproof.trace.appending import Appender\n"
        "writer = Appender(Path(sys.argv[1])); print(flush=True); sys.stdin.readline()\n"
        "writer.append({'fingerprint': 'ab' * 32, 'request': None, 'events': "
        "[{'type': 'completed', 'response_id': None, 'usage': None}]})"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdin is not None
        writer.stdout.readline()
        with writing(path):
            writer.stdin.write("\n")
            writer.stdin.flush()
            time.sleep(0.3)  # it has opened the old file and waits
            other = path.with_name("other")
            other.write_bytes(path.read_bytes())
            other.replace(path)
        assert writer.wait(timeout=120) == 0
    assert len(read(path).lines) == 2


def test_an_old_trace_is_not_appended_to_before_it_is_migrated(tmp_path: Path, talk: Talk) -> None:
    path = tmp_path / "old.jsonl"
    path.write_text(json.dumps({"fingerprint": "ab" * 32, "events": [{"type": "completed"}]}) + "\n")
    before, inner = path.read_bytes(), Scripted()
    with pytest.raises(Exception, match="has version 0 of the trace format") as caught:
        RecordingModelClient(inner, path)
    assert caught.value.hint == f"stackproof trace migrate {path}"  # type: ignore[attr-defined]
    assert path.read_bytes() == before
    migrate(path)
    assert talk.say(RecordingModelClient(inner, path), "Oslo?") == list(ANSWER)
    assert len(read(path).lines) == 2


def test_folders_are_made_when_the_first_line_is_written(tmp_path: Path, talk: Talk) -> None:
    path = tmp_path / "a/b/talk.jsonl"
    client = RecordingModelClient(Scripted(), path)
    assert not (tmp_path / "a").exists()
    talk.say(client, "Oslo?")
    assert len(read(path).lines) == 1


def test_places_where_nothing_can_be_written_are_told_before_the_model_is_asked(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    for name, what in (
        ("", "is a folder"),
        ("file/talk.jsonl", "below something that is no folder"),
        ("loop", "leads back to itself"),
        ("pipe", "is no regular file"),
    ):
        with pytest.raises(TraceFileError, match=what):
            RecordingModelClient(Scripted(), tmp_path / name)
    assert sorted(item.name for item in tmp_path.iterdir()) == ["file", "loop", "pipe"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_without_permission_nothing_is_touched_and_both_clients_say_so(tmp_path: Path, talk: Talk) -> None:
    tmp_path.chmod(0o755)
    talk.say(RecordingModelClient(Scripted(), tmp_path / "talk.jsonl"), "Oslo?")
    (tmp_path / "talk.jsonl").chmod(0o600)
    before = (tmp_path / "talk.jsonl").read_bytes()
    code = """
import os
from stackproof.trace import RecordingModelClient, ReplayModelClient, TraceFileError
os.setuid(65534)
for make in (lambda: ReplayModelClient("talk.jsonl"), lambda: RecordingModelClient(None, "talk.jsonl"),
             lambda: RecordingModelClient(None, "new.jsonl")):
    try:
        make()
    except TraceFileError as error:
        print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=True
    )
    assert done.stdout.splitlines() == [
        "talk.jsonl cannot be read or written: Permission denied",
        "talk.jsonl cannot be read or written: Permission denied",
        "new.jsonl cannot be read or written: the folder . is not writable",
    ]
    assert (tmp_path / "talk.jsonl").read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["talk.jsonl"]
