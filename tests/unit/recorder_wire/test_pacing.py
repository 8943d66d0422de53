"""A replayed stream arrives at once, as it was recorded or scaled, and in other pieces where that is asked for."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.unit.recorder_wire.callers import Caller
    from tests.unit.recorder_wire.conftest import Bench, LoopbackProvider, Wire

GAP = 0.08
EVENTS = (b'data: {"a":"\xc3\xa9"}\n\n', b'data: {"b":2}\n\n', b'data: {"c":3}\n\n', b"data: [DONE]\n\n")


def _slowly(wire: Wire) -> None:
    wire.head(content_type="text/event-stream")
    for event in EVENTS:
        wire.taken()
        time.sleep(GAP)
        wire.chunk(event)
    wire.end()


def _seconds(bench: Bench, caller: Caller, **settings: object) -> tuple[float, tuple[bytes, ...]]:
    with bench.replay(**settings):
        began = time.monotonic()
        heard = caller.heard("POST", f"{bench.provider.url}/answers", json={"stream": True})
        took = time.monotonic() - began
    assert heard.body == b"".join(EVENTS)
    return took, tuple(heard.pieces)


@pytest.fixture
def recorded(bench: Bench, provider: LoopbackProvider, caller: Caller) -> Bench:
    """Four events with a gap before each."""
    provider.script = _slowly
    with bench.record():
        caller.heard("POST", f"{bench.provider.url}/answers", json={"stream": True})
    return bench


def test_the_gaps_are_in_the_file(recorded: Bench) -> None:
    waits = _waits(recorded)
    assert len(waits) == len(EVENTS)
    # Who reads one event late has waited less for the next: no machine is held up before each of them.
    assert max(waits) >= GAP * 1000 * 0.8


def _waits(recorded: Bench) -> list[int]:
    """Milliseconds."""
    (content,) = recorded.recordings()
    return list(content["response"]["waits"])


def test_replay_does_not_wait_unless_asked(recorded: Bench, caller: Caller) -> None:
    # Whoever waits takes longer each time; a busy machine does not hold up each of them.
    heard = [_seconds(recorded, caller) for _ in range(10)]
    assert min(took for took, _ in heard) < GAP * 3
    assert {pieces for _, pieces in heard} == {EVENTS}


def test_replay_can_keep_the_pace_of_the_recording(recorded: Bench, caller: Caller) -> None:
    took, pieces = _seconds(recorded, caller, pace=1.0)
    assert took >= sum(_waits(recorded)) / 1000 * 0.95
    assert pieces == EVENTS


def test_the_pace_can_be_scaled(recorded: Bench, caller: Caller) -> None:
    twice, _ = _seconds(recorded, caller, pace=2.0)
    assert twice >= sum(_waits(recorded)) / 1000 * 2 * 0.95


def test_every_byte_can_be_a_chunk(recorded: Bench, caller: Caller) -> None:
    _, pieces = _seconds(recorded, caller, chunk_fuzz="bytes")
    assert pieces == tuple(bytes([byte]) for byte in b"".join(EVENTS))


def test_a_seed_cuts_the_same_way_each_time_and_another_seed_differently(recorded: Bench, caller: Caller) -> None:
    _, first = _seconds(recorded, caller, chunk_fuzz="7")
    _, again = _seconds(recorded, caller, chunk_fuzz="7")
    _, other = _seconds(recorded, caller, chunk_fuzz="8")
    assert first == again
    assert first != other
    assert len(first) > len(EVENTS)
