"""A writer that is killed at any byte of a line: what was there before stays whole, and the next writer goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.trace.conftest import Scripted, Talk

from stackproof.trace import DamagedTraceError, RecordingModelClient, ReplayModelClient, read

# For each byte of what one append writes, a child is forked that gets that far and is killed by SIGKILL.
_AT_EVERY_BYTE = r"""
import json, os, signal, sys
from pathlib import Path
from stackproof.trace.appending import Appender
from stackproof.trace.contents import read

path, before = Path(sys.argv[1]), json.loads(sys.argv[2])
ended = {"type": "completed", "response_id": None, "usage": None}
line = {"fingerprint": "ab" * 32, "request": None, "events": [ended]}
write = os.pwrite
os.fsync = lambda handle: None  # it is the kernel that keeps what a killed process has written


def dies_at(count):
    pid = os.fork()
    if pid:
        return os.WIFSIGNALED(os.waitpid(pid, 0)[1])

    def partly(handle, data, offset):
        written = write(handle, data[:count], offset)
        if count < len(data):
            os.kill(os.getpid(), signal.SIGKILL)
        return written

    os.pwrite = partly
    Appender(path).append(line)
    os._exit(0)


for _ in range(before):
    Appender(path).append(line)
whole = path.read_bytes() if before else b""
Appender(path).append(line)
after, outcomes = path.read_bytes(), []
for count in range(len(after) - len(whole) + 1):
    path.unlink()
    if before:
        path.write_bytes(whole)
    killed = dies_at(count)
    left = path.read_bytes()
    contents = read(path)
    kept = sum(found.exchange is not None for found in contents.lines)
    torn = contents.is_torn
    Appender(path).append(line)
    again = read(path)
    outcomes.append({
        "killed": killed, "prefix": left == after[: len(whole) + count], "kept": kept, "torn": torn,
        "repaired": again.damage is None, "holds": len(again.lines), "same": path.read_bytes() == after,
    })
print(json.dumps({"outcomes": outcomes, "size": len(after) - len(whole)}))
"""


@pytest.mark.parametrize("before", [0, 2])
def test_sigkill_at_every_byte_of_a_line_leaves_what_was_written_before(
    path: Path, tmp_path: Path, before: int
) -> None:
    program = tmp_path / "program.py"
    program.write_text(_AT_EVERY_BYTE)
    command = [sys.executable, str(program), str(path), str(before)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    *cut, complete = told["outcomes"]
    assert len(cut) == told["size"] > 50
    assert all(one["killed"] and one["prefix"] for one in cut)
    assert not complete["killed"]
    for number, one in enumerate(cut):
        # A line that lacks nothing but its line feed is whole: nothing of it is lost, and the next begins a new one.
        whole = one["kept"] == before + 1
        assert one["kept"] == before or (whole and path.suffix == ".jsonl" and number == told["size"] - 1)
        assert one["repaired"]
        assert one["holds"] == one["kept"] + 1
        assert one["same"] or whole or one["kept"] != before
    assert any(one["torn"] for one in cut)
    assert complete["kept"] == before + 1


_ENDLESSLY = """
import asyncio, sys
from stackproof.trace import CancelToken, Completed, ModelRequest, RecordingModelClient, TextDelta

class Inner:
    async def stream(self, request, cancel):
        yield TextDelta(text="x" * (1 + request.step_sequence % 70_000))
        yield Completed()

async def main():
    client = RecordingModelClient(Inner(), sys.argv[1])
    for step in range(0, 10**9, 997):
        async for _ in client.stream(ModelRequest(instructions="", history=(), step_sequence=step), CancelToken()):
            pass
        print(step, flush=True)

asyncio.run(main())
"""


def test_sigkill_at_any_moment_loses_no_line_that_was_confirmed(path: Path, tmp_path: Path, talk: Talk) -> None:
    program = tmp_path / "program.py"
    program.write_text(_ENDLESSLY)
    confirmed = 0
    for number in range(6):
        with subprocess.Popen([sys.executable, str(program), str(path)], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for _ in range(3 + number * 5):
                process.stdout.readline()
            process.send_signal(signal.SIGKILL)
            confirmed += 3 + number * 5 + len(process.stdout.readlines())
            assert process.wait(timeout=120) == -signal.SIGKILL
        contents = read(path)
        found = [line.exchange for line in contents.lines if line.exchange is not None]
        assert confirmed <= len(found) <= confirmed + 1 + number
        assert all(line.damage is None or line.damage.torn for line in contents.lines)
    talk.say(RecordingModelClient(Scripted(), path), "Oslo?")
    assert read(path).damage is None


def test_a_torn_last_line_is_refused_in_replay_and_dropped_by_the_next_recording(
    path: Path, talk: Talk, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        talk.say(RecordingModelClient(Scripted(), path), "Oslo?")
    whole = path.read_bytes()
    os.truncate(path, len(whole) - 20)
    with pytest.raises(DamagedTraceError, match="line 3, is cut short") as caught:
        ReplayModelClient(path)
    assert caught.value.torn
    assert path.stat().st_size == len(whole) - 20
    talk.say(RecordingModelClient(Scripted(), path), "Oslo?")
    assert path.read_bytes() == whole
    assert "its last line was cut short by a writer that was stopped; it is dropped" in caplog.text
    assert len(ReplayModelClient(path)._whole) == 2


def test_a_line_that_another_writer_left_torn_meanwhile_is_dropped_too(path: Path, talk: Talk) -> None:
    client = RecordingModelClient(Scripted(), path)
    talk.say(client, "Oslo?")
    before = path.read_bytes()
    talk.say(RecordingModelClient(Scripted(), path), "Oslo?")
    line = path.read_bytes()[len(before) :]
    os.truncate(path, len(before) + len(line) // 2)
    talk.say(client, "Oslo?")
    assert path.read_bytes() == before + line
    os.truncate(path, len(before) - 1)  # less than was known to be there
    talk.say(client, "Oslo?")
    assert read(path).damage is None


@pytest.mark.parametrize(
    "content", [b"my notes", b"# a heading\nand more\n", b'{"a": 1}\n', b"\x00\xff\x00", b"{}", b'{"format":"other"}\n']
)
def test_a_file_that_is_no_trace_is_neither_appended_to_nor_cut(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(DamagedTraceError):
        RecordingModelClient(Scripted(), path)
    with pytest.raises(DamagedTraceError):
        ReplayModelClient(path)
    assert path.read_bytes() == content


def test_a_damaged_line_in_the_middle_is_refused_before_the_model_is_asked(tmp_path: Path, talk: Talk) -> None:
    path, inner = tmp_path / "talk.jsonl", Scripted()
    talk.say(RecordingModelClient(Scripted(), path), "Oslo?")
    path.write_text(path.read_text() + "}\n")
    before = path.read_bytes()
    with pytest.raises(DamagedTraceError, match="line 3"):
        talk.say(RecordingModelClient(inner, path), "Oslo?")
    assert inner.asked == []
    assert path.read_bytes() == before


def test_a_full_disk_leaves_the_earlier_lines_whole(path: Path, tmp_path: Path, text_of: Callable[[Path], str]) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        """
import asyncio, os, resource, signal, sys
from stackproof.trace import *

class Inner:
    async def stream(self, request, cancel):
        yield TextDelta(text=os.urandom(400 if request.step_sequence == 0 else 30_000).hex())
        yield Completed()

async def main():
    client = RecordingModelClient(Inner(), sys.argv[1])
    for step in range(2):
        async for event in client.stream(ModelRequest(instructions="", history=(), step_sequence=step), CancelToken()):
            print(event.type)

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
try:
    asyncio.run(main())
except TraceFileError as error:
    print(error)
"""
    )
    done = subprocess.run(
        [sys.executable, str(program), str(path)], capture_output=True, text=True, timeout=300, check=True
    )
    events = ["text_delta", "completed"] * 2
    assert done.stdout.splitlines() == [*events, f"{path} cannot be read or written: File too large"]
    assert text_of(path).count("\n") == 2
    contents = read(path)
    assert contents.damage is None
    assert len(contents.lines) == 1
