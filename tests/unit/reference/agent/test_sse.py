"""Events are the same however the network cuts them, and a damaged byte is an error."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_stack.agent import sse
from reference_stack.agent.failures import DamagedStreamError
from reference_stack.agent.sse import ServerEvent, ServerEvents

STREAM = (
    b'\xef\xbb\xbf: hello\r\n\r\nevent: a\r\ndata: {"x":\r\ndata:  1}\r\n\r\n'
    b"data:\xc3\xa4\n\nid: 7\nretry: 10\nevent: b\rdata\r\rdata: [DONE]\n\n"
)
EVENTS = [
    ServerEvent(name="a", data='{"x":\n 1}'),
    ServerEvent(name="message", data="ä"),
    ServerEvent(name="b", data=""),
    ServerEvent(name="message", data="[DONE]"),
]


def read(*pieces: bytes) -> tuple[list[ServerEvent], ServerEvents]:
    events = ServerEvents()
    return [event for piece in pieces for event in events.feed(piece)], events


def test_fields_lines_and_comments_are_read_as_the_standard_says() -> None:
    found, events = read(STREAM)
    assert found == EVENTS
    assert not events.unfinished


@given(cuts=st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_cuts_make_no_difference(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[begin:end] for begin, end in pairwise(places)]
    assert read(*pieces)[0] == EVENTS


def test_every_byte_alone_makes_no_difference() -> None:
    assert read(*(bytes([byte]) for byte in STREAM))[0] == EVENTS


@pytest.mark.parametrize("rest", [b"data: {", b"event: x\n", b"data: {}\n", b"da"])
def test_what_has_begun_and_not_ended_is_told(rest: bytes) -> None:
    found, events = read(b"data: 1\n\n", rest)
    assert len(found) == 1
    assert events.unfinished


@pytest.mark.parametrize(
    ("stream", "word"),
    [
        (b"data: \xff\n\n", "not UTF-8"),
        (b"data: \xc3\n\n", "not UTF-8"),
        (b"<html>\n\n", "no field of an event"),
        (b"dota: {}\n\n", "no field of an event"),
    ],
)
def test_damaged_bytes_are_an_error(stream: bytes, word: str) -> None:
    with pytest.raises(DamagedStreamError, match=word):
        read(b"data: 1\n\n", stream)


@pytest.mark.parametrize("piece", [b"data: xxxx", b"data: x\n"])
def test_an_event_without_end_is_an_error_in_time(monkeypatch: pytest.MonkeyPatch, piece: bytes) -> None:
    monkeypatch.setattr(sse, "LARGEST", 100)
    with pytest.raises(DamagedStreamError, match="more than 100 bytes"):
        read(*[piece] * 50)


def test_a_long_event_in_many_pieces_takes_no_time() -> None:
    events = ServerEvents()
    begin = time.process_time()
    for _ in range(4000):
        assert not list(events.feed(b"x" * 1000 if events.unfinished else b"data: " + b"x" * 1000))
    (found,) = events.feed(b"\n\n")
    assert len(found.data) == 4_000_000
    many = b"data: {}\n\n" * 100_000
    assert sum(1 for _ in ServerEvents().feed(many)) == 100_000
    # Looked at from the begin with each piece, this takes minutes.
    assert time.process_time() - begin < 20
