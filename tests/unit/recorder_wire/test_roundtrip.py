"""What a caller hears in replay is what it heard while recording: bytes, edges, errors, early ends."""

from __future__ import annotations

import gzip
import itertools
import json
import threading
import time
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.unit.recorder_wire.callers import Caller, Heard, MakeCaller
    from tests.unit.recorder_wire.conftest import Bench, LoopbackProvider, Wire

_SSE = "text/event-stream"


def _twice(
    bench: Bench, caller: Caller, method: str = "POST", path: str = "/answers", **request: object
) -> list[Heard]:
    """The same call recorded, then replayed."""
    url = f"{bench.provider.url}{path}"
    with bench.record():
        recorded = caller.heard(method, url, **dict(request))  # type: ignore[arg-type]
    with bench.replay():
        replayed = caller.heard(method, url, **dict(request))  # type: ignore[arg-type]
    return [recorded, replayed]


def test_plain_json_is_the_same_in_replay(bench: Bench, provider: LoopbackProvider, caller: Caller) -> None:
    provider.script = lambda wire: wire.json(
        {"object": "chat.completion", "id": "cmpl-77", "created": 5, "text": "Grüße"}
    )
    recorded, replayed = _twice(bench, caller, json={"model": "m"})
    assert recorded.error is None
    assert recorded.body == replayed.body
    assert json.loads(recorded.body)["text"] == "Grüße"
    assert (recorded.status, replayed.status) == (200, 200)
    assert json.loads(recorded.body)["id"].startswith("rec-"), "the caller gets what replay will give"


def _in_pieces(*pieces: bytes) -> Callable[[Wire], None]:
    def script(wire: Wire) -> None:
        wire.head(content_type=_SSE)
        for piece in pieces:
            wire.chunk(piece)
            wire.taken()
        wire.end()

    return script


def test_chunk_edges_of_a_stream_are_kept(bench: Bench, provider: LoopbackProvider, caller: Caller) -> None:
    pieces = (b'data: {"a"', b":1}\n\n", b'data: {"b":2}\n\ndata: {"c":3}\n\n', b"data: [DONE]\n\n")
    provider.script = _in_pieces(*pieces)
    recorded, replayed = _twice(bench, caller, json={"stream": True})
    assert recorded.pieces == replayed.pieces == pieces


def test_an_edge_inside_an_event_comes_back_even_where_its_chunk_began_with_another_event(
    bench: Bench, provider: LoopbackProvider, caller: Caller
) -> None:
    pieces = (b'data: {"a":1}\n\ndata: {"b"', b":2}\n\n", b"data: [DONE]\n\n")
    provider.script = _in_pieces(*pieces)
    recorded, replayed = _twice(bench, caller, json={"stream": True})
    # While recording, the first event does not wait for the second, which is released when it is whole.
    assert recorded.pieces == (b'data: {"a":1}\n\n', b'data: {"b"', b":2}\n\n", b"data: [DONE]\n\n")
    assert replayed.pieces == pieces


@pytest.mark.parametrize(
    ("raw", "content_type"),
    [
        (b": ping\n\ndata: 1\n\nevent: x\ndata: two\ndata: lines\n\nid: 7\ndata: last, without a blank line", _SSE),
        (b"data: \xff\xfe\n\ndata: ok\n\n", _SSE),
        (b"data: 1\r\n\r\ndata: 2\r\n\r\n", _SSE),
        (b'{"done":false}\n{"done":true}\n', "application/x-ndjson"),
        (b"\xff\xfb\x90\x00" * 40, "audio/mpeg"),
        (b"plain words", "text/plain; charset=utf-8"),
        (b'{"a":1,"a":2}', "application/json"),
        (b"", "application/json"),
    ],
    ids=["comments", "not-utf8", "crlf", "ndjson", "binary", "text", "duplicate-keys", "empty"],
)
def test_every_kind_of_body_comes_back_byte_for_byte(
    bench: Bench, provider: LoopbackProvider, caller: Caller, raw: bytes, content_type: str
) -> None:
    provider.script = lambda wire: wire.whole(raw, 200, content_type)
    recorded, replayed = _twice(bench, caller, content=b"ask")
    assert recorded.error is None
    assert recorded.body == raw
    assert replayed.body == raw
    assert replayed.headers["content-type"] == content_type


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_compressed_answer_is_readable_in_the_file_and_decodes_in_both(
    bench: Bench, provider: LoopbackProvider, caller: Caller, encoding: str
) -> None:
    raw = json.dumps({"text": "long " * 50}).encode()
    packed = gzip.compress(raw) if encoding == "gzip" else zlib.compress(raw)
    provider.script = lambda wire: wire.whole(packed, 200, "application/json", content_encoding=encoding)
    recorded, replayed = _twice(bench, caller, content=b"ask")
    assert recorded.error is None
    assert json.loads(recorded.body) == json.loads(replayed.body) == json.loads(raw)
    assert "content-encoding" not in replayed.headers
    (kept,) = bench.recordings()
    assert kept["response"]["body"] == {"json": json.loads(raw)}
    assert kept["response"]["headers"]["content-encoding"] == encoding


def test_an_encoding_that_we_cannot_undo_reaches_the_caller_with_its_name(
    bench: Bench, provider: LoopbackProvider, caller: Caller
) -> None:
    provider.script = lambda wire: wire.whole(b"\x0b\x02\x80raw\x03", 200, "application/json", content_encoding="x-own")
    recorded, replayed = _twice(bench, caller, content=b"ask")
    assert recorded.body == replayed.body == b"\x0b\x02\x80raw\x03"
    assert recorded.headers["content-encoding"] == replayed.headers["content-encoding"] == "x-own"


def test_a_body_that_is_not_the_gzip_it_claims_is_the_librarys_own_error(
    bench: Bench, provider: LoopbackProvider, caller: Caller
) -> None:
    provider.script = lambda wire: wire.whole(b"no gzip at all", 200, "application/json", content_encoding="gzip")
    with bench.record(record_errors=True):
        recorded = caller.heard("POST", f"{provider.url}/answers", content=b"ask")
    with bench.replay():
        replayed = caller.heard("POST", f"{provider.url}/answers", content=b"ask")
    assert recorded.error == replayed.error == caller.errors["DecodingError"]


def test_an_answer_of_another_status_keeps_status_headers_and_text(
    bench: Bench, provider: LoopbackProvider, caller: Caller
) -> None:
    provider.script = lambda wire: wire.whole(b"slow down", 429, "text/plain", retry_after="60")
    with bench.record(record_errors=True):
        recorded = caller.heard("POST", f"{provider.url}/answers", content=b"ask")
    with bench.replay():
        began = time.monotonic()
        replayed = caller.heard("POST", f"{provider.url}/answers", content=b"ask")
    assert (recorded.status, recorded.body) == (replayed.status, replayed.body) == (429, b"slow down")
    assert replayed.headers["retry-after"] == "60"
    assert replayed.headers["retry-after-ms"] == "1", "who waits as told does not wait in replay"
    assert time.monotonic() - began < 30


def test_an_error_of_the_moment_is_not_kept(bench: Bench, provider: LoopbackProvider, caller: Caller) -> None:
    provider.script = lambda wire: wire.whole(b"slow down", 429, "text/plain", retry_after="60")
    with bench.record():
        assert caller.heard("POST", f"{provider.url}/answers", content=b"ask").status == 429
    assert bench.files() == []


def test_a_broken_stream_replays_its_events_and_then_the_same_exception(
    bench: Bench, provider: LoopbackProvider, caller: Caller
) -> None:
    def script(wire: Wire) -> None:
        wire.head(content_type=_SSE)
        for number in range(3):
            wire.chunk(b'data: {"n":%d}\n\n' % number)
            wire.taken()
        wire.reset()

    provider.script = script
    with bench.record(record_errors=True):
        recorded = caller.heard("POST", f"{provider.url}/answers", content=b"ask")
    with bench.replay():
        replayed = caller.heard("POST", f"{provider.url}/answers", content=b"ask")
    assert replayed.error == recorded.error == caller.errors["Reset"]
    assert recorded.pieces == replayed.pieces
    assert len(replayed.pieces) == 3


def test_a_read_timeout_replays_at_once(bench: Bench, provider: LoopbackProvider, caller: Caller) -> None:
    over = threading.Event()

    def script(wire: Wire) -> None:
        wire.head(content_type=_SSE)
        wire.chunk(b'data: {"n":0}\n\n')
        over.wait(60)

    provider.script = script
    with bench.record(record_errors=True):
        recorded = caller.heard("POST", f"{provider.url}/answers", content=b"ask", timeout=1.0)
    over.set()
    with bench.replay():
        began = time.monotonic()
        replayed = caller.heard("POST", f"{provider.url}/answers", content=b"ask", timeout=60.0)
    assert recorded.error == replayed.error == caller.errors.get("ReadTimeoutInBody", caller.errors["ReadTimeout"])
    assert recorded.pieces == replayed.pieces == (b'data: {"n":0}\n\n',)
    assert time.monotonic() - began < 30


def test_a_refused_connection_replays_as_the_same_class(
    bench: Bench, provider: LoopbackProvider, caller: Caller, unused_port: int
) -> None:
    provider.port = unused_port
    with bench.record(record_errors=True):
        recorded = caller.heard("POST", f"{provider.url}/answers", content=b"ask")
    with bench.replay():
        replayed = caller.heard("POST", f"{provider.url}/answers", content=b"ask")
    assert recorded.error == replayed.error == caller.errors["ConnectError"]
    assert recorded.status is replayed.status is None


def test_an_unknown_name_replays_as_the_same_class(bench: Bench, provider: LoopbackProvider, caller: Caller) -> None:
    provider.host = "no-such-host.invalid"
    with bench.record(record_errors=True):
        recorded = caller.heard("POST", f"{provider.url}/answers", content=b"ask")
    with bench.replay():
        replayed = caller.heard("POST", f"{provider.url}/answers", content=b"ask")
    assert recorded.error == replayed.error == caller.errors["Unresolved"]
    (kept,) = bench.recordings()
    assert "no-such-host" not in json.dumps(kept), "a file names no host"


@pytest.mark.parametrize("way", ["ResetBefore", "Disconnected"])
def test_a_connection_that_ends_before_the_answer_replays_as_the_same_class(
    bench: Bench, provider: LoopbackProvider, caller: Caller, way: str
) -> None:
    provider.script = lambda wire: wire.reset() if way == "ResetBefore" else wire.leave()
    with bench.record(record_errors=True):
        recorded = caller.heard("POST", f"{provider.url}/answers", content=b"ask")
    with bench.replay():
        replayed = caller.heard("POST", f"{provider.url}/answers", content=b"ask")
    assert recorded.error == replayed.error == caller.errors[way]
    assert len(bench.files()) == 1


def test_an_answer_that_ends_in_the_middle_replays_as_the_same_class(
    bench: Bench, provider: LoopbackProvider, caller: Caller
) -> None:
    def script(wire: Wire) -> None:
        wire.head(content_type=_SSE)
        wire.chunk(b'data: {"n":0}\n\n')
        wire.taken()
        wire.leave()

    provider.script = script
    with bench.record(record_errors=True):
        recorded = caller.heard("POST", f"{provider.url}/answers", content=b"ask")
    with bench.replay():
        replayed = caller.heard("POST", f"{provider.url}/answers", content=b"ask")
    assert recorded.error == replayed.error == caller.errors["RemoteProtocolError"]
    assert recorded.pieces == replayed.pieces == (b'data: {"n":0}\n\n',)


def test_a_timeout_before_the_answer_replays_at_once(bench: Bench, provider: LoopbackProvider, caller: Caller) -> None:
    over = threading.Event()

    def script(wire: Wire) -> None:
        over.wait(60)

    provider.script = script
    with bench.record(record_errors=True):
        recorded = caller.heard("POST", f"{provider.url}/answers", content=b"ask", timeout=0.3)
    over.set()
    with bench.replay():
        began = time.monotonic()
        replayed = caller.heard("POST", f"{provider.url}/answers", content=b"ask", timeout=60.0)
    assert recorded.error == replayed.error == caller.errors["ReadTimeout"]
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("mode", ["record", "replay"])
def test_a_caller_that_leaves_early_gets_what_it_read_and_no_more(
    bench: Bench, provider: LoopbackProvider, caller: Caller, mode: str
) -> None:
    def script(wire: Wire) -> None:
        wire.head(content_type=_SSE)
        for number in itertools.count():  # until nobody listens
            wire.chunk(b'data: {"n":%d}\n\n' % number)
            wire.taken()

    provider.script = script
    with bench.record():
        recorded = caller.heard("POST", f"{provider.url}/answers", content=b"ask", stop_after=2)
    assert provider.left.wait(60), "the provider is told that the caller left"
    (kept,) = bench.recordings()
    assert kept["response"]["complete"] is False
    if mode == "replay":
        with bench.replay() as brain:
            again = caller.heard("POST", f"{provider.url}/answers", content=b"ask", stop_after=2)
            misses, _ = brain.ledger.read("misses")
        assert again.pieces == recorded.pieces == (b'data: {"n":0}\n\n', b'data: {"n":1}\n\n')
        assert misses == []


def test_reading_beyond_where_the_recorded_caller_left_is_a_named_miss(
    bench: Bench, provider: LoopbackProvider, caller: Caller
) -> None:
    def script(wire: Wire) -> None:
        wire.events(*({"n": number} for number in range(9)))

    provider.script = script
    with bench.record():
        caller.heard("POST", f"{provider.url}/answers", content=b"ask", stop_after=1)
    with bench.replay() as brain:
        heard = caller.heard("POST", f"{provider.url}/answers", content=b"ask")
        misses, _ = brain.ledger.read("misses")
    assert heard.error == caller.errors["Incomplete"]
    assert "left this stream early" in heard.message
    assert [miss["kind"] for miss in misses] == ["incomplete"]


def test_the_first_event_is_released_while_the_provider_holds_the_second(
    bench: Bench, provider: LoopbackProvider, caller: Caller
) -> None:
    read_first = threading.Event()
    held_long_enough: list[bool] = []

    def script(wire: Wire) -> None:
        wire.head(content_type=_SSE)
        wire.chunk(b'data: {"n":0}\n\n')
        held_long_enough.append(read_first.wait(60))
        wire.chunk(b'data: {"n":1}\n\ndata: [DONE]\n\n')
        wire.end()

    provider.script = script
    seen = []

    def on_piece(piece: bytes) -> bool:
        seen.append(piece)
        read_first.set()
        return False

    with bench.record():
        request = {"content": b"ask", "timeout": 60.0}
        caller.listen("POST", f"{provider.url}/answers", lambda *_: None, on_piece, request)
    assert held_long_enough == [True]
    assert seen[0] == b'data: {"n":0}\n\n'


def test_one_recording_serves_both_libraries_in_both_colours(
    bench: Bench, provider: LoopbackProvider, caller: Caller
) -> None:
    import httpx2

    provider.script = lambda wire: wire.events({"n": 1}, {"n": 2})
    with bench.record(), httpx2.Client(trust_env=False) as client:
        recorded = client.post(f"{provider.url}/answers", json={"a": 1, "b": 2}).content
    with bench.replay():
        heard = caller.heard(
            "POST", f"{provider.url}/answers", content=b'{"b": 2, "a": 1}', headers={"content-type": "application/json"}
        )
    assert heard.body == recorded


@pytest.mark.parametrize("recorder", ["httpx2", "aiohttp", "urllib3"])
@pytest.mark.parametrize("way", ["ConnectError", "Disconnected", "Reset", "RemoteProtocolError", "ReadTimeout"])
def test_a_failure_that_one_library_recorded_is_the_nearest_of_any_other(
    bench: Bench, provider: LoopbackProvider, caller: Caller, make_caller: MakeCaller, *, recorder: str, way: str
) -> None:
    over = threading.Event()

    def script(wire: Wire) -> None:
        if way == "ReadTimeout":
            over.wait(60)
        elif way != "Disconnected":
            wire.head(content_type=_SSE)
            wire.chunk(b'data: {"n":0}\n\n')
            wire.taken()
        if way == "Reset":
            wire.reset()
        else:
            wire.leave()

    provider.script = script
    if way == "ConnectError":
        provider.stop()
    with bench.record(record_errors=True):
        make_caller(recorder).heard("POST", f"{provider.url}/answers", content=b"ask", timeout=0.3)
    over.set()
    with bench.replay():
        heard = caller.heard("POST", f"{provider.url}/answers", content=b"ask")
    assert heard.error == caller.errors[way]


def test_a_miss_is_an_answer_that_no_sdk_repeats(bench: Bench, provider: LoopbackProvider, caller: Caller) -> None:
    with bench.replay() as brain:
        heard = caller.heard("POST", f"{provider.url}/answers", json={"model": "m"})
        misses, _ = brain.ledger.read("misses")
    assert heard.status == 424
    assert heard.headers["x-should-retry"] == "false"
    assert json.loads(heard.body)["error"]["message"] == misses[0]["message"]
    assert "nothing is recorded for" in misses[0]["message"]
