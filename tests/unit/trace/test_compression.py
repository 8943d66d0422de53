"""Compressed traces: a frame for each line, readable by others, and a clear word where the package is missing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import zstandard
from tests.unit.trace.conftest import ANSWER, Scripted, Talk

from stackproof.trace import DamagedTraceError, MissingPackageError, RecordingModelClient, ReplayModelClient, read
from stackproof.trace.migrating import migrate


@pytest.fixture
def recorded(tmp_path: Path, talk: Talk) -> Path:
    path = tmp_path / "talk.jsonl.zst"
    client = RecordingModelClient(Scripted(), path)
    for said in ("Oslo?", "Bergen?"):
        talk.say(client, said)
    return path


def test_a_compressed_trace_says_what_the_plain_one_says(recorded: Path, talk: Talk, tmp_path: Path) -> None:
    plain = tmp_path / "talk.jsonl"
    client = RecordingModelClient(Scripted(), plain)
    for said in ("Oslo?", "Bergen?"):
        talk.say(client, said)
    undo = zstandard.ZstdDecompressor()
    with recorded.open("rb") as file, undo.stream_reader(file, read_across_frames=True) as reader:
        assert reader.read() == plain.read_bytes()
    assert [line.exchange for line in read(recorded).lines] == [line.exchange for line in read(plain).lines]


def test_long_answers_take_less_room(tmp_path: Path, talk: Talk) -> None:
    sizes = []
    for name in ("talk.jsonl", "talk.jsonl.zst"):
        talk.say(RecordingModelClient(Scripted(), tmp_path / name), "what is the weather in Oslo? " * 500)
        sizes.append((tmp_path / name).stat().st_size)
    assert sizes[1] * 10 < sizes[0]


def test_a_plain_trace_that_was_compressed_as_a_whole_is_read_and_appended_to(tmp_path: Path, talk: Talk) -> None:
    plain, packed = tmp_path / "talk.jsonl", tmp_path / "talk.jsonl.zst"
    client = RecordingModelClient(Scripted(), plain)
    for said in ("Oslo?", "Bergen?"):
        talk.say(client, said)
    packed.write_bytes(zstandard.compress(plain.read_bytes().removesuffix(b"\n")))
    talk.say(RecordingModelClient(Scripted(), packed), "Moss?")
    with ReplayModelClient(packed) as replay:
        for said in ("Oslo?", "Bergen?", "Moss?"):
            assert talk.say(replay, said) == list(ANSWER)


def test_a_torn_line_inside_a_whole_frame_is_damage_that_nobody_drops(tmp_path: Path, talk: Talk) -> None:
    plain, packed = tmp_path / "talk.jsonl", tmp_path / "talk.jsonl.zst"
    talk.say(RecordingModelClient(Scripted(), plain), "Oslo?")
    packed.write_bytes(zstandard.compress(plain.read_bytes() + plain.read_bytes()[42:90]))
    before = packed.read_bytes()
    with pytest.raises(DamagedTraceError, match="line 3, is cut short") as caught:
        RecordingModelClient(Scripted(), packed)
    assert not caught.value.torn
    with pytest.raises(DamagedTraceError):
        migrate(packed, drop_torn=True)
    assert packed.read_bytes() == before


def test_a_changed_byte_in_any_place_is_told_and_never_served(recorded: Path) -> None:
    raw = recorded.read_bytes()
    whole = read(recorded)
    for at in range(len(raw)):
        recorded.write_bytes(raw[:at] + bytes([raw[at] ^ 0x20]) + raw[at + 1 :])
        try:
            found = read(recorded)
        except DamagedTraceError:
            continue
        # Else the change made the last frame look unfinished: what is before it is as it was, and stays.
        lines = [line.exchange for line in found.lines if line.exchange is not None]
        assert lines == [line.exchange for line in whole.lines][: len(lines)]
        assert len(lines) == len(whole.lines) - (found.damage is not None)
    assert len(raw) > 500


def test_a_frame_that_seems_unfinished_before_others_is_damage_and_not_dropped(recorded: Path) -> None:
    raw = recorded.read_bytes()
    starts = [at for at in range(len(raw)) if raw.startswith(b"\x28\xb5\x2f\xfd", at)]
    assert len(starts) == 3  # the header and two lines
    recorded.write_bytes(raw[: starts[1] + 40] + raw[starts[2] :])
    before = recorded.read_bytes()
    with pytest.raises(DamagedTraceError, match="has a damaged zstd frame at byte") as caught:
        RecordingModelClient(Scripted(), recorded)
    assert not caught.value.torn
    assert recorded.read_bytes() == before


def test_no_changed_bit_of_a_frame_has_those_behind_it_dropped(tmp_path: Path, talk: Talk) -> None:
    path = tmp_path / "talk.jsonl.zst"
    client = RecordingModelClient(Scripted(), path)
    for said in ("Oslo? " * 2000, "Bergen?", "Moss?"):
        talk.say(client, said)
    raw, whole = path.read_bytes(), read(path).lines
    start, unfinished = raw.index(b"\x28\xb5\x2f\xfd", 4), 0
    for at in range(start, start + 30):
        for bit in range(8):
            path.write_bytes(raw[:at] + bytes([raw[at] ^ 1 << bit]) + raw[at + 1 :])
            try:
                found = read(path)
            except DamagedTraceError as error:
                unfinished += error.what.startswith("has a damaged zstd frame") and ": " not in error.what
            else:
                assert found.lines == whole  # a bit that means nothing
    assert unfinished  # some of them made the frame seem longer than the file


def test_garbage_behind_the_last_frame_is_damage(recorded: Path) -> None:
    recorded.write_bytes(recorded.read_bytes() + b"xx")
    before = recorded.read_bytes()
    with pytest.raises(DamagedTraceError, match="is not zstd at byte"):
        RecordingModelClient(Scripted(), recorded)
    assert recorded.read_bytes() == before


@pytest.mark.parametrize("make", ["read", "record"])
def test_without_the_package_one_sentence_says_what_to_do(
    recorded: Path, monkeypatch: pytest.MonkeyPatch, make: str
) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingPackageError) as caught:
        ReplayModelClient(recorded) if make == "read" else RecordingModelClient(Scripted(), recorded)
    assert str(caught.value) == (
        f"{recorded} is compressed, and the package zstandard, which reads and writes it, is not installed"
    )
    assert caught.value.hint == f"pip install zstandard, or use an uncompressed trace: {recorded.with_suffix('')}"


def test_plain_traces_never_need_the_package(tmp_path: Path, talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    talk.say(RecordingModelClient(Scripted(), tmp_path / "talk.jsonl"), "Oslo?")
    assert talk.say(ReplayModelClient(tmp_path / "talk.jsonl"), "Oslo?") == list(ANSWER)
