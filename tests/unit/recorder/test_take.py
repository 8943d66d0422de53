"""A call while it is recorded: what the caller gets, when, and what is kept of it."""

from __future__ import annotations

import gzip
import itertools
import json
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackproof.recorder import recording
from stackproof.recorder.normalise import Ids
from stackproof.recorder.take import Take

DIGEST = "ab" * 32
SSE = {"content-type": "text/event-stream"}
JSON = {"content-type": "application/json"}


class Listener:
    """A take, what it gave to the caller, and what it ended with."""

    def __init__(self, headers: dict[str, str], status: int = 200) -> None:
        self.ended: list[dict[str, Any]] = []
        self.given: list[bytes] = []
        self.take = Take(Ids(DIGEST, 1), self.ended.append)
        self.headers = self.take.start(status, headers, {"content-type": headers.get("content-type", "")})

    def feed(self, *chunks: bytes) -> Listener:
        for chunk in chunks:
            self.given += self.take.feed(chunk)
        return self

    def end(self) -> Listener:
        self.given += self.take.end()
        return self

    @property
    def response(self) -> dict[str, Any]:
        (response,) = self.ended
        return response


def _cuts(raw: bytes, offsets: list[int]) -> list[bytes]:
    edges = [0, *sorted(offset % (len(raw) + 1) for offset in offsets), len(raw)]
    return [raw[start:end] for start, end in itertools.pairwise(edges)]


def _without_edges(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: item for key, item in event.items() if key not in ("cut", "joined")} for event in events]


def _chunk(text: str, end: str = "\n") -> str:
    data = {"id": "chatcmpl-real", "object": "chat.completion.chunk", "created": 5, "choices": [{"text": text}]}
    return f"data: {json.dumps(data, separators=(',', ':'))}{end}{end}"


STREAM = (": ping\n\n" + _chunk("a") + _chunk("é🙂") + 'event: x\ndata: two "chatcmpl-real"\ndata: l\n\n').encode()
DONE = b"data: [DONE]\n\n"


@given(st.lists(st.integers(0)))
def test_the_same_bytes_are_the_same_recording_however_they_were_cut(offsets: list[int]) -> None:
    whole = Listener(SSE).feed(STREAM + DONE).end()
    cut = Listener(SSE).feed(*_cuts(STREAM + DONE, offsets)).end()
    assert b"".join(cut.given) == b"".join(whole.given)
    assert _without_edges(cut.response["events"]) == _without_edges(whole.response["events"])
    assert cut.response["complete"]


@given(st.lists(st.integers(0)))
def test_replay_gives_the_bytes_that_the_caller_got(offsets: list[int]) -> None:
    listener = Listener(SSE).feed(*_cuts(STREAM + DONE, offsets)).end()
    assert b"".join(recording.chunks_of(listener.response)) == b"".join(listener.given)


@given(st.lists(st.integers(0), max_size=8))
def test_edges_of_chunks_are_replayed_where_nothing_was_rewritten(offsets: list[int]) -> None:
    raw = b'data: {"a":1}\n\ndata: {"b":2}\n\n: ping\n\nevent: x\ndata: {"c":"some longer text"}\n\n' + DONE
    chunks = [chunk for chunk in _cuts(raw, offsets) if chunk]
    listener = Listener(SSE).feed(*chunks).end()
    assert list(recording.chunks_of(listener.response)) == chunks


def test_an_event_is_released_when_it_is_complete_and_not_before() -> None:
    listener = Listener(SSE)
    assert listener.take.feed(b'data: {"a"') == []
    assert b"".join(listener.take.feed(b':1}\n\ndata: {"b"')) == b'data: {"a":1}\n\n'
    assert b"".join(listener.take.feed(b":2}\n\n")) == b'data: {"b":2}\n\n'
    assert listener.ended == []


def test_ids_are_rewritten_in_every_event_and_in_no_other_text() -> None:
    given_out = b"".join(Listener(SSE).feed(STREAM).end().given).decode()
    assert given_out.count(f'"id":"rec-{DIGEST[:12]}"') == 2
    assert '"created":0' in given_out
    # An event that stays raw speaks of the same id where it quotes it whole.
    assert f'data: two "rec-{DIGEST[:12]}"' in given_out


def test_a_short_id_never_eats_into_other_text() -> None:
    listener = Listener(SSE)
    listener.feed(b'data: {"id":"1","object":"chat.completion.chunk"}\n\n', b": 101 things, see 1\n\n").end()
    assert listener.given[-1] == b": 101 things, see 1\n\n"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_may_end_in_any_way(end: str) -> None:
    listener = Listener(SSE).feed(f"{_chunk('a', end)}data: [DONE]{end}{end}".encode()).end()
    assert listener.response["complete"]
    assert listener.response["events"][0]["data"]["created"] == 0
    assert b"".join(listener.given).endswith(f"data: [DONE]{end}{end}".encode())


def test_a_last_event_without_a_blank_line_is_kept() -> None:
    listener = Listener(SSE).feed(b"data: 1\n\n", b"data: 2").end()
    assert b"".join(listener.given) == b"data: 1\n\ndata: 2"
    assert b"".join(recording.chunks_of(listener.response)) == b"data: 1\n\ndata: 2"
    assert listener.response["complete"]


# -- how it ends


def test_the_terminal_event_ends_the_recording_at_once() -> None:
    listener = Listener(SSE).feed(STREAM, DONE)
    assert listener.response["complete"]
    assert listener.take.is_over


@pytest.mark.parametrize(
    "pieces",
    [
        (b"data: x\n\n" + DONE + b"data: late\n\n: more",),
        (b"data: x\n\n", DONE, b"data: late\n\n"),
        (b"data: x\n\n", DONE + b"data: la", b"te\n\n"),
    ],
)
def test_nothing_follows_the_terminal_event_however_it_was_cut(pieces: tuple[bytes, ...]) -> None:
    listener = Listener(SSE).feed(*pieces).end()
    assert b"".join(listener.given) == b"data: x\n\n" + DONE
    assert _without_edges(listener.response["events"]) == [{"text": "x"}, {"text": "[DONE]"}]


def test_ollama_ends_with_done() -> None:
    listener = Listener({"content-type": "application/x-ndjson"})
    listener.feed(b'{"done":false,"model":"m","created_at":"2026"}\n{"done":true,"model":"m","created_at":"2026"}\n')
    assert listener.response["complete"]
    assert listener.response["events"][0]["data"]["created_at"] == "1970-01-01T00:00:00Z"


def test_a_caller_that_leaves_early_makes_it_incomplete() -> None:
    listener = Listener(SSE).feed(b"data: 1\n\n", b"data: 2\n\n", b"data: thr")
    listener.take.close()
    assert listener.response["complete"] is False
    assert listener.response["is_exception"] is False
    assert b"".join(recording.chunks_of(listener.response)) == b"data: 1\n\ndata: 2\n\n"


def test_a_caller_that_leaves_after_the_terminal_event_has_read_everything() -> None:
    listener = Listener(SSE).feed(b"data: 1\n\n", DONE)
    listener.take.close()
    assert listener.response["complete"] is True


def test_three_events_and_a_reset_are_three_events_and_a_reset() -> None:
    listener = Listener(SSE).feed(b"data: 1\n\ndata: 2\n\n", b"data: 3\n\n", b"data: 4")
    listener.take.fail({"kind": "ReadError", "message": "reset"})
    assert listener.response["exception"] == {"kind": "ReadError", "message": "reset"}
    assert listener.response["is_exception"] is True
    assert (
        b"".join(recording.chunks_of(listener.response))
        == b"".join(listener.given)
        == b"data: 1\n\ndata: 2\n\ndata: 3\n\n"
    )


def test_no_answer_at_all() -> None:
    ended: list[dict[str, Any]] = []
    Take(Ids(DIGEST, 1), ended.append).fail({"kind": "ConnectError", "message": "refused"})
    assert ended[0]["status"] is None
    assert ended[0]["body"] is None


@pytest.mark.parametrize("headers", [SSE, JSON, {"content-type": "text/plain"}])
def test_it_ends_once_whatever_comes_after(headers: dict[str, str]) -> None:
    listener = Listener(headers).feed(b'{"a":1}').end()
    before = list(listener.given)
    listener.end().feed(b"more").end()
    listener.take.close()
    listener.take.fail({"kind": "ReadError", "message": ""})
    assert len(listener.ended) == 1
    assert listener.given == before


def test_an_empty_body_is_an_end_too() -> None:
    listener = Listener(JSON, status=204).end()
    assert listener.given == []
    assert listener.response["body"] is None
    assert listener.response["complete"]


# -- whole bodies


def test_json_is_rewritten_as_a_whole_at_its_end() -> None:
    listener = Listener(JSON)
    listener.feed(b'{"id": "chatcmpl-1", "object": "chat.comp', b'letion", "created": 5, "n": 1.50}')
    assert listener.given == []
    listener.end()
    value = {"id": f"rec-{DIGEST[:12]}", "object": "chat.completion", "created": 0, "n": 1.5}
    assert [json.loads(chunk) for chunk in listener.given] == [value]
    assert listener.response["body"] == {"json": value}
    assert list(recording.chunks_of(listener.response)) == listener.given


@pytest.mark.parametrize("raw", [b'{"a":1,"a":2}', b"NaN", b"{cut", b"\xff\xfe", b"[" * 300 + b"]" * 300])
def test_json_with_no_single_meaning_is_handed_on_as_it_came(raw: bytes) -> None:
    listener = Listener(JSON).feed(raw[:1], raw[1:]).end()
    assert listener.given == [raw]
    assert list(recording.chunks_of(listener.response)) == [raw]


def test_half_of_a_surrogate_pair_in_an_answer_stays_valid_json() -> None:
    listener = Listener(JSON).feed(b'{"a":"\\ud83d"}').end()
    assert listener.given == [b'{"a":"\\ud83d"}']


def test_other_bodies_pass_chunk_by_chunk() -> None:
    listener = Listener({"content-type": "audio/mpeg"})
    assert listener.take.feed(b"\xff\xfb") == [b"\xff\xfb"]
    assert listener.take.feed(b"\x90\x00") == [b"\x90\x00"]
    listener.end()
    assert recording.decode_body(listener.response["body"]) == b"\xff\xfb\x90\x00"


# -- encodings


def _raw_deflate(raw: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(raw) + packer.flush()


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "Deflate": _raw_deflate,
}


@pytest.mark.parametrize("encoding", PACKED)
@given(offsets=st.lists(st.integers(0), max_size=6), raw=st.binary(max_size=60))
def test_encoded_bodies_are_read_under_any_cuts(encoding: str, offsets: list[int], raw: bytes) -> None:
    packed = PACKED[encoding](raw)
    listener = Listener({"content-type": "text/plain", "content-encoding": encoding, "content-length": "9"})
    listener.feed(*_cuts(packed, offsets)).end()
    assert b"".join(listener.given) == raw
    assert listener.headers == {"content-type": "text/plain"}
    assert recording.decode_body(listener.response["body"]) == raw


def test_every_first_byte_of_raw_deflate_is_understood() -> None:
    for length in range(1, 300):
        raw = bytes(range(256)) * 2
        packed = _raw_deflate(raw[:length])
        listener = Listener({"content-type": "text/plain", "content-encoding": "deflate"})
        listener.feed(packed[:1], b"", packed[1:]).end()
        assert b"".join(listener.given) == raw[:length]


def test_a_compressed_stream_is_cut_into_events_as_it_comes() -> None:
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    first = packer.compress(b"data: 1\n\n") + packer.flush(zlib.Z_SYNC_FLUSH)
    listener = Listener({**SSE, "content-encoding": "gzip"})
    assert listener.take.feed(first) == [b"data: 1\n\n"]


def test_headers_of_the_connection_are_not_handed_on() -> None:
    headers = {"content-type": "text/plain", "transfer-encoding": "chunked", "connection": "close", "x-kept": "1"}
    assert Listener(headers).headers == {"content-type": "text/plain", "x-kept": "1"}
