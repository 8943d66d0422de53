"""Streams are cut into the same events however the network cut them, and put back into bytes of the same meaning."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackproof.recorder.events import Framing, Splitter, decode, encode, framing_of, is_terminal

ENDS = ("\n", "\r\n", "\r")
CHUNK = '{"id":"chatcmpl-1","choices":[{"delta":{"content":"é🙂"}}]}'


def _split(framing: Framing, chunks: list[bytes]) -> list[bytes]:
    splitter = Splitter(framing)
    found = [event for chunk in chunks for event in splitter.feed(chunk)]
    rest = splitter.end()
    return [*found, rest] if rest else found


def _cuts(raw: bytes, offsets: list[int]) -> list[bytes]:
    edges = [0, *sorted(offset % (len(raw) + 1) for offset in offsets), len(raw)]
    return [raw[start:end] for start, end in itertools.pairwise(edges)]


STREAMS = [
    b": ping\n\nevent: a\ndata: 1\n\ndata: two\ndata: lines\n\nid: 7\ndata: {}\n\ndata: [DONE]\n\n",
    f"data: {CHUNK}\r\n\r\n: c\r\n\r\ndata: [DONE]\r\n\r\n".encode(),
    b"data: 1\r\rdata: 2\r\r",
    b"data: 1\n\ndata: 2\r\n\r\ndata: 3\n\r\ndata: 4\r\n\ndata: 5\r\r\ndata: 6\n\rdata: 7",
    b"data: \xff\n\ndata: last, without a blank line",
    b"\n\n\n\n",
    b"",
]


@pytest.mark.parametrize("raw", STREAMS)
def test_every_single_cut_gives_the_same_events(raw: bytes) -> None:
    whole = _split("sse", [raw])
    assert b"".join(whole) == raw
    for offset in range(len(raw)):
        assert _split("sse", [raw[:offset], raw[offset:]]) == whole
    assert _split("sse", [raw[index : index + 1] for index in range(len(raw))]) == whole


@given(
    st.lists(st.sampled_from(["data: x", ": c", "event: e", "id: 1", "data: é", "\r", "\n", "\r\n", "\n\n"])),
    st.lists(st.integers(min_value=0)),
)
def test_any_bytes_under_any_cuts_give_the_same_events(parts: list[str], offsets: list[int]) -> None:
    raw = "".join(parts).encode()
    assert _split("sse", _cuts(raw, offsets)) == _split("sse", [raw])


@given(st.lists(st.sampled_from(['{"done":false}', "{}", "", "[1]", "é", "\n", "\r\n"])), st.lists(st.integers(0)))
def test_ndjson_under_any_cuts_gives_the_same_lines(parts: list[str], offsets: list[int]) -> None:
    raw = "".join(parts).encode()
    whole = _split("ndjson", [raw])
    assert whole == raw.splitlines(keepends=True) if b"\r" not in raw else whole
    assert _split("ndjson", _cuts(raw, offsets)) == whole


@pytest.mark.parametrize("end", ENDS)
def test_an_event_is_given_out_as_soon_as_it_is_complete(end: str) -> None:
    splitter = Splitter("sse")
    assert splitter.feed(f"data: 1{end}".encode()) == []
    # A lone carriage return may be half of a line end, so that one waits for the next byte.
    given_out = splitter.feed(end.encode())
    assert given_out == ([] if end == "\r" else [f"data: 1{end}{end}".encode()])
    assert splitter.pending == (9 if end == "\r" else 0)


@given(st.binary())
def test_bytes_are_never_lost_in_decoding(raw: bytes) -> None:
    event = decode("sse", raw)
    if "data" not in event and "text" not in event:
        assert encode("sse", event) == raw
    assert decode("sse", encode("sse", event)) == event


@given(
    st.sampled_from(ENDS),
    st.none() | st.text(alphabet="abc._", min_size=1),
    st.recursive(
        st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    ),
)
def test_json_events_come_back_as_they_were(end: str, name: str | None, value: Any) -> None:
    data = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    raw = ((f"event: {name}{end}" if name else "") + f"data: {data}{end}{end}").encode()
    event = decode("sse", raw)
    assert event["data"] == value
    assert event.get("event") == name
    assert encode("sse", event) == raw


@pytest.mark.parametrize(
    "raw",
    [
        b": ping\n\n",
        b"data: a\ndata: b\n\n",
        b"id: 1\ndata: {}\n\n",
        b"data: {}\nevent: late\n\n",
        b"data: {}\n: comment\n\n",
        b"retry: 10\n\n",
        b"data: {}",
        b"data: {}\n",
        b"data: {}\r\n\n",
        b"data: a\n\n\n",
        b"\n\n",
        b"\xef\xbb\xbfdata: {}\n\n",
    ],
)
def test_what_one_data_line_cannot_say_stays_exactly_as_it_was(raw: bytes) -> None:
    assert decode("sse", raw) == {"raw": raw.decode()}
    assert encode("sse", decode("sse", raw)) == raw


def test_bytes_that_are_no_text_are_kept() -> None:
    event = decode("sse", b"data: \xff\n\n")
    assert set(event) == {"base64"}
    assert encode("sse", event) == b"data: \xff\n\n"


@pytest.mark.parametrize("text", ["[DONE]", "", '{"a":1,"a":2}', "NaN", "two words", "  spaces kept"])
def test_data_that_is_no_plain_json_stays_text(text: str) -> None:
    raw = f"data: {text}\n\n".encode()
    assert decode("sse", raw) == {"text": text}
    assert encode("sse", decode("sse", raw)) == raw


def test_a_missing_space_after_the_colon_means_the_same() -> None:
    assert decode("sse", b'data:{"a":1}\n\n') == decode("sse", b'data: {"a":1}\n\n') == {"data": {"a": 1}}


def test_half_of_a_surrogate_pair_in_a_delta_survives() -> None:
    raw = b'data: {"delta":"\\ud83d"}\n\n'
    assert encode("sse", decode("sse", raw)) == raw


def test_ndjson_lines() -> None:
    assert decode("ndjson", b'{"done": true}\r\n') == {"data": {"done": True}}
    assert encode("ndjson", {"data": {"done": True}}) == b'{"done":true}\n'
    for odd in (b"\n", b"no json\n", b'{"cut'):
        assert encode("ndjson", decode("ndjson", odd)) == odd


@pytest.mark.parametrize("end", ENDS)
def test_the_terminal_event_is_known_whichever_way_lines_end(end: str) -> None:
    assert is_terminal("sse", decode("sse", f"data: [DONE]{end}{end}".encode()))


@pytest.mark.parametrize("kind", ["response.completed", "response.failed", "response.incomplete", "message_stop"])
def test_terminal_types_of_the_wires(kind: str) -> None:
    assert is_terminal("sse", decode("sse", f'event: {kind}\ndata: {{"type":"{kind}"}}\n\n'.encode()))


@pytest.mark.parametrize(
    ("framing", "event"),
    [
        ("sse", {"data": {"type": "response.output_text.done"}}),
        ("sse", {"data": {"done": True}}),
        ("sse", {"data": "[DONE]"}),
        ("sse", {"raw": ": [DONE]\n\n"}),
        ("ndjson", {"data": {"done": False}}),
        ("ndjson", {"data": {"done": "yes"}}),
        ("ndjson", {"data": [True]}),
    ],
)
def test_other_events_end_nothing(framing: Framing, event: dict[str, Any]) -> None:
    assert not is_terminal(framing, event)


def test_ollama_says_done() -> None:
    assert is_terminal("ndjson", decode("ndjson", b'{"done":true}\n'))


@pytest.mark.parametrize(
    ("content_type", "framing"),
    [
        ("text/event-stream", "sse"),
        ("Text/Event-Stream; charset=utf-8", "sse"),
        ("application/x-ndjson", "ndjson"),
        ("application/jsonl", "ndjson"),
        ("application/json", None),
        ("text/plain", None),
        ("", None),
    ],
)
def test_framing_follows_the_content_type(content_type: str, framing: str | None) -> None:
    assert framing_of(content_type) == framing


@settings(max_examples=20)
@given(st.integers(1, 50))
def test_pending_counts_what_is_not_complete(length: int) -> None:
    splitter = Splitter("sse")
    splitter.feed(b"data: 1\n\n" + b"x" * length)
    assert splitter.pending == length
    assert splitter.end() == b"x" * length
    assert splitter.pending == 0
