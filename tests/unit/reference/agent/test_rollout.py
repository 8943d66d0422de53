"""Records are written once and in order, whatever the medium takes, and a file has one writer."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import random
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from reference_stack.agent.records import Record, of_item
from reference_stack.agent.resume import open_rollout
from reference_stack.agent.rollout import RolloutBusyError, RolloutError, RolloutWriteError, RolloutWriter
from reference_stack.agent.rollout_file import RolloutFile
from reference_stack.agent.rollout_reading import HEADER, RolloutDamagedError, read_rollout


def record(number: int) -> Record:
    return of_item("turn_1", {"type": "message", "role": "user", "content": f"Ω{number}"})


class Medium:
    """Takes as many bytes at a time as `room` says, each a number of bytes or an error."""

    def __init__(self, *room: int | OSError, sync: tuple[OSError | None, ...] = ()) -> None:
        self.kept = b""
        self.synced = 0
        self.closed = False
        self._room = list(room)
        self._sync = list(sync)

    def write(self, data: bytes) -> int:
        room = self._room.pop(0) if self._room else len(data)
        if isinstance(room, OSError):
            raise room
        self.kept += data[:room]
        return min(room, len(data))

    def sync(self) -> None:
        failure = self._sync.pop(0) if self._sync else None
        if failure is not None:
            raise failure
        self.synced = len(self.kept)

    def close(self) -> None:
        self.closed = True


FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def numbers(kept: bytes) -> list[int]:
    return [json.loads(line)["n"] for line in kept.splitlines()]


def test_a_record_is_a_line_of_its_own_and_synced_when_it_is_kept() -> None:
    medium = Medium()
    asyncio.run(RolloutWriter(medium).append(record(1), record(2)))
    assert [json.loads(line) for line in medium.kept.splitlines()] == [{"n": 0, **record(1)}, {"n": 1, **record(2)}]
    assert medium.kept.isascii()
    assert medium.synced == len(medium.kept)


def test_a_medium_that_takes_a_few_bytes_at_a_time_gets_all_of_them_once() -> None:
    whole, slow = Medium(), Medium(*[1, 3, 2] * 40)
    for medium in (whole, slow):
        asyncio.run(RolloutWriter(medium).append(record(1), record(2)))
    assert slow.kept == whole.kept


def test_only_what_was_not_taken_is_tried_again() -> None:
    async def work() -> None:
        medium = Medium(30, OSError(errno.EIO, "broken"))
        writer = RolloutWriter(medium)
        with pytest.raises(RolloutWriteError, match="broken") as caught:
            await writer.append(record(1))
        assert len(medium.kept) == 30
        assert caught.value.unconfirmed == len(writer.unconfirmed) > 0
        await writer.append(record(2))
        assert numbers(medium.kept) == [0, 1]
        assert writer.unconfirmed == b""
        assert medium.synced == len(medium.kept)

    asyncio.run(work())


def test_a_full_medium_is_called_that_and_what_it_has_is_whole() -> None:
    async def work() -> None:
        medium = Medium(10**6, FULL, FULL)
        writer = RolloutWriter(medium)
        await writer.append(record(1))
        before = medium.kept
        with pytest.raises(RolloutWriteError, match=r"there is no room left\. What was kept before is whole"):
            await writer.append(record(2))
        with pytest.raises(RolloutWriteError, match="there is no room left"):
            await writer.flush()
        assert medium.kept == before
        await writer.flush()
        assert numbers(medium.kept) == [0, 1]

    asyncio.run(work())


def test_a_medium_that_takes_nothing_is_not_asked_for_ever() -> None:
    with pytest.raises(RolloutWriteError, match="takes nothing"):
        asyncio.run(RolloutWriter(Medium(0)).append(record(1)))


def test_what_could_not_be_synced_is_synced_the_next_time_and_not_written_again() -> None:
    async def work() -> None:
        medium = Medium(sync=(OSError(errno.EIO, "broken"),))
        writer = RolloutWriter(medium)
        with pytest.raises(RolloutWriteError, match="broken"):
            await writer.append(record(1))
        await writer.flush()
        assert numbers(medium.kept) == [0]
        assert medium.synced == len(medium.kept)

    asyncio.run(work())


def test_what_is_not_json_is_refused_and_leaves_no_gap() -> None:
    async def work() -> None:
        medium = Medium()
        writer = RolloutWriter(medium)
        with pytest.raises(TypeError):
            await writer.append(record(1), of_item("turn_1", {"type": object()}))
        with pytest.raises(ValueError, match="not JSON compliant"):
            await writer.append(of_item("turn_1", {"type": float("nan")}))
        await writer.append(record(2))
        assert numbers(medium.kept) == [0]

    asyncio.run(work())


def test_a_cancelled_append_is_over_before_the_cancellation_is_raised() -> None:
    begun, go_on = threading.Event(), threading.Event()

    class Slow(Medium):
        def write(self, data: bytes) -> int:
            begun.set()
            assert go_on.wait(60)
            return super().write(data)

    async def work() -> None:
        medium = Slow()
        writer = RolloutWriter(medium)
        task = asyncio.create_task(writer.append(record(1)))
        await asyncio.to_thread(begun.wait, 60)
        task.cancel()
        await asyncio.sleep(0.02)
        assert not task.done()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert numbers(medium.kept) == [0]
        await writer.append(record(2))
        await writer.aclose()
        assert numbers(medium.kept) == [0, 1]
        assert medium.closed

    asyncio.run(work())


@pytest.mark.parametrize("seed", range(30))
def test_a_medium_that_fails_at_random_has_every_record_once_and_in_order(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - a schedule, not a secret
    room = [OSError(errno.EIO, "broken") if chance.random() < 0.4 else chance.randint(1, 60) for _ in range(60)]

    async def work() -> bytes:
        medium = Medium(*room)
        writer = RolloutWriter(medium)
        for number in range(10):
            with suppress(RolloutWriteError):
                await writer.append(record(number))
        while writer.unconfirmed:
            with suppress(RolloutWriteError):
                await writer.flush()
        return medium.kept

    assert [json.loads(line) for line in asyncio.run(work()).splitlines()] == [
        {"n": number, **record(number)} for number in range(10)
    ]


def written(path: Path, *records: Record) -> None:
    async def work() -> None:
        writer, _ = await open_rollout(path)
        await writer.append(*records)
        await writer.aclose()

    asyncio.run(work())


def test_a_file_has_what_was_written_in_several_goes(tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    written(path, record(1))
    written(path, record(2), record(3))
    found = read_rollout(path)
    assert list(found.records) == [record(1), record(2), record(3)]
    assert (found.lines, found.dropped, found.said) == (4, 0, None)
    assert json.loads(path.read_bytes().splitlines()[0]) == {"n": 0, **HEADER}
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("cut", range(1, 61))
def test_a_torn_last_line_is_dropped_and_said_and_what_follows_stands_on_a_line_of_its_own(
    tmp_path: Path, cut: int
) -> None:
    path = tmp_path / "rollout.jsonl"
    written(path, record(1), record(2))
    whole = path.read_bytes()
    length = len(whole.splitlines(keepends=True)[-1])
    path.write_bytes(whole[:-cut])
    found = read_rollout(path)
    assert list(found.records) == [record(1)]
    assert found.dropped == length - cut
    assert found.said is not None
    assert f"({length - cut} bytes)" in found.said
    written(path, record(2))
    assert path.read_bytes() == whole


def test_a_torn_line_longer_than_one_look_is_dropped_too(tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    written(path, record(1))
    whole = path.read_bytes()
    path.write_bytes(whole + b"x" * 200_000)
    written(path, record(2))
    assert list(read_rollout(path).records) == [record(1), record(2)]
    path.write_bytes(b"y" * 200_000)
    written(path, record(3))
    assert list(read_rollout(path).records) == [record(3)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "Line 2 of the rollout .* is not JSON"),
        (b"7", "is not a record"),
        (b'{"n":1}', "is not a record"),
        (b'{"n":0,"record":"item"}', "has the number 0 and not 1: a line is doubled or missing"),
        (b'{"n":2,"record":"item"}', "has the number 2 and not 1"),
    ],
)
def test_a_whole_line_that_is_not_what_was_written_is_an_error_with_its_place(
    tmp_path: Path, line: bytes, message: str
) -> None:
    path = tmp_path / "rollout.jsonl"
    written(path)
    path.write_bytes(path.read_bytes() + line + b"\n")
    with pytest.raises(RolloutDamagedError, match=message):
        read_rollout(path)
    with pytest.raises(RolloutDamagedError, match=message):
        written(path)


def test_another_kind_of_file_is_not_written_to(tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(b'{"n":0,"record":"rollout","format":2}\n')
    with pytest.raises(RolloutDamagedError, match="format 1"):
        written(path, record(1))
    assert path.read_bytes().count(b"\n") == 1


def test_a_file_that_cannot_be_had_is_named(tmp_path: Path) -> None:
    with pytest.raises(RolloutError, match=r"nothing\.jsonl cannot be read: No such file"):
        read_rollout(tmp_path / "nothing.jsonl")
    with pytest.raises(RolloutWriteError, match=r"cannot be opened: No such file"):
        written(tmp_path / "nowhere" / "rollout.jsonl")
    with pytest.raises(RolloutWriteError, match=r"is not open"):
        RolloutFile(tmp_path / "rollout.jsonl").write(b"x")


def opened_by_another(path: Path) -> str:
    other = [sys.executable, "-c", OTHER, str(path)]
    return subprocess.run(other, capture_output=True, text=True, timeout=120, check=False).stderr


def test_a_second_writer_is_refused_in_this_process_and_in_another(tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"

    async def work() -> None:
        writer, _ = await open_rollout(path)
        with pytest.raises(RolloutBusyError, match="being written by somebody else"):
            await open_rollout(path)
        assert "RolloutBusyError" in await asyncio.to_thread(opened_by_another, path)
        await writer.append(record(1))
        assert list(read_rollout(path).records) == [record(1)]
        await writer.aclose()
        again, _ = await open_rollout(path)
        await again.aclose()

    asyncio.run(work())


OTHER = f"""
import sys
sys.path.insert(0, {str(Path(sys.modules[RolloutFile.__module__].__file__ or "").parents[2])!r})
from pathlib import Path
from reference_stack.agent.rollout_file import RolloutFile
RolloutFile(Path(sys.argv[1])).open()
"""


def test_a_file_that_could_not_be_opened_is_not_kept_locked(tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(b"no rollout\n")
    for _ in range(2):
        with pytest.raises(RolloutDamagedError):
            written(path)
