"""What passes through an edge, and in which form: recorded through it, replayed through it and in process."""

from __future__ import annotations

import gc
import itertools
import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.e2e.edge.conftest import EdgeBench
from tests.e2e.edge.edge_client import CHAT, pieces

from stackproof.recorder.scope import Scope

# -- SDKs


LONGEST = 60.0
# Each row calls twice, plain and streamed; between them they send through every HTTP library that the recorder knows.
ROWS = (
    "openai_sync", "openai_async", "openai_aiohttp", "openai_legacy_httpx",
    "anthropic_sync", "anthropic_async", "google_genai_sync", "google_genai_async",
    "ollama_sync", "ollama_async", "tavily_sync", "tavily_async",
)  # fmt: skip


_of_sdks = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::UserWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


@pytest.fixture
def _collected() -> Iterator[None]:
    """SDKs that cannot be closed leave sockets, which must not be found in another test."""
    yield
    gc.collect()


def _owner(row: str) -> Scope:
    name = f"tests/integration/probe/test_it.py::test_{row}"
    return Scope(name=name, test_id=name)


@_of_sdks
@pytest.mark.usefixtures("_collected")
def test_what_sdks_record_through_the_edge_replays_through_it_and_in_process(
    edges: EdgeBench, bench: Any, provider: Any, wires: Any, clients: Any
) -> None:
    provider.script = wires.answer
    recorded = {}
    with edges.record() as edge:
        for row in ROWS:
            edge.announce(_owner(row))
            recorded[row] = json.dumps(getattr(clients, row)(edge.url), default=repr)
            edge.announce(None)
            edge.keep(_owner(row))
        assert edge.calls() == ["recorded"] * 2 * len(ROWS)
        assert edge.lines("misses") == []
    assert len(bench.files()) == 2 * len(ROWS)
    assert {one["request"]["url"].partition("/")[0] for one in bench.recordings()} == {"{PROBE_URL}"}
    with edges.replay() as edge:
        for row in ROWS:
            edge.announce(_owner(row))
            assert json.dumps(getattr(clients, row)(edge.url), default=repr) == recorded[row], row
        assert edge.calls() == ["replayed"] * 2 * len(ROWS)
    for row in ROWS:
        with bench.replay(owner=_owner(row)) as brain:
            assert json.dumps(getattr(clients, row)(provider.url), default=repr) == recorded[row], row
            assert [call["kind"] for call in brain.ledger.read("calls")[0]] == ["replayed"] * 2


@_of_sdks
@pytest.mark.usefixtures("_collected")
def test_what_sdks_record_in_process_replays_through_the_edge(
    edges: EdgeBench, bench: Any, provider: Any, wires: Any, clients: Any
) -> None:
    provider.script = wires.answer
    recorded = {}
    for row in ROWS:
        with bench.record(owner=_owner(row)):
            recorded[row] = json.dumps(getattr(clients, row)(provider.url), default=repr)
    with edges.replay() as edge:
        for row in ROWS:
            edge.announce(_owner(row))
            assert json.dumps(getattr(clients, row)(edge.url), default=repr) == recorded[row], row
        assert edge.calls() == ["replayed"] * 2 * len(ROWS)


def test_the_edge_and_a_process_write_the_same_file(edges: EdgeBench, bench: Any, provider: Any) -> None:
    provider.script = lambda wire: wire.events({"n": 1}, {"n": 2})
    with edges.record() as edge:
        pieces(f"{edge.url}/chat?x=1", CHAT)
    (path,) = bench.files()
    before, stat = path.read_text(), path.stat()
    with bench.record():
        httpx.post(f"{provider.url}/chat?x=1", json=CHAT, timeout=60)
    (again,) = bench.files()
    assert again == path
    assert (again.read_text(), again.stat().st_mtime_ns) == (before, stat.st_mtime_ns), "an equal answer is left alone"


# -- streams


def test_a_stream_passes_event_by_event_while_it_is_recorded(edges: EdgeBench, provider: Any) -> None:
    came = threading.Semaphore(0)

    def script(wire: Any) -> None:
        wire.head(content_type="text/event-stream")
        for number in range(5):
            wire.chunk(f'data: {{"n": {number}}}\n\n'.encode())
            # The next one is not sent before the caller has this one.
            assert came.acquire(timeout=LONGEST)
            time.sleep(0.1)
        wire.chunk(b"data: [DONE]\n\n")
        wire.end()

    provider.script = script
    with edges.record() as edge:
        got, _ = pieces(f"{edge.url}/chat", CHAT, came=came.release)
    assert [json.loads(piece[6:]) for piece in got[:5]] == [{"n": number} for number in range(5)]
    with edges.replay() as edge:
        assert pieces(f"{edge.url}/chat", CHAT)[0] == got
    with edges.replay(pace=0.5) as edge:
        began = time.monotonic()
        assert pieces(f"{edge.url}/chat", CHAT)[0] == got
        assert time.monotonic() - began > 0.24, "each of five waits was half as long as it had been at least"


def test_pieces_keep_the_edges_that_they_had_on_the_network(edges: EdgeBench, provider: Any) -> None:
    def script(wire: Any) -> None:
        wire.head(content_type="text/event-stream")
        for part in (b'data: {"a"', b":1}\n\nda", b'ta: {"b":2}\n\ndata: {"c":3}\n\n', b"data: [DONE]\n\n"):
            wire.chunk(part)
            wire.taken()
        wire.end()

    provider.script = script
    with edges.record() as edge:
        recorded = pieces(f"{edge.url}/chat", CHAT)[0]
    with edges.replay() as edge:
        replayed = pieces(f"{edge.url}/chat", CHAT)[0]
    assert replayed == [
        b'data: {"a"', b':1}\n\nda', b'ta: {"b":2}\n\ndata: {"c":3}\n\n', b"data: [DONE]\n\n"
    ]  # fmt: skip
    assert b"".join(recorded) == b"".join(replayed)
    assert b"da" in recorded, "an event is handed on once it is whole"


def test_a_stream_that_breaks_off_breaks_off_for_the_stack_and_again_in_replay(
    edges: EdgeBench, bench: Any, provider: Any
) -> None:
    def script(wire: Any) -> None:
        wire.head(content_type="text/event-stream")
        for number in range(3):
            wire.chunk(f'data: {{"n": {number}}}\n\n'.encode())
            wire.taken()
        wire.reset()

    provider.script = script
    with edges.record(record_errors=True) as edge:
        got, error = pieces(f"{edge.url}/chat", CHAT)
        assert "Connection reset by peer" in edge.log.read_text() or "ClientPayloadError" in edge.log.read_text()
    assert len(got) == 3
    assert error == "RemoteProtocolError"
    (kept,) = bench.recordings()
    assert kept["response"]["is_exception"] is True
    with edges.replay() as edge:
        assert pieces(f"{edge.url}/chat", CHAT) == (got, error)


def test_a_caller_who_leaves_early_ends_the_call_and_reading_on_in_replay_is_a_miss(
    edges: EdgeBench, bench: Any, provider: Any
) -> None:
    def script(wire: Any) -> None:
        wire.head(content_type="text/event-stream")
        for number in itertools.count():  # until nobody listens
            wire.chunk(f'data: {{"n": {number}}}\n\n'.encode())
            time.sleep(0.02)

    provider.script = script
    with edges.record() as edge:
        got = pieces(f"{edge.url}/chat", CHAT, stop_after=3)[0]
        assert provider.left.wait(LONGEST), "the provider is left, too"
    (kept,) = bench.recordings()
    assert kept["response"]["complete"] is False
    assert len(kept["response"]["events"]) >= 3
    with edges.replay() as edge:
        assert pieces(f"{edge.url}/chat", CHAT, stop_after=3)[0] == got
        time.sleep(0.1)
        assert edge.lines("misses") == []
    with edges.replay() as edge:
        assert pieces(f"{edge.url}/chat", CHAT)[1] == "RemoteProtocolError"
        (miss,) = edge.lines("misses")
        assert miss["kind"] == "incomplete"
