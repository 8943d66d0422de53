"""br and zstd on the wire: the same decoded bytes in record and in replay, raw reads and processes without them too."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from typing import TYPE_CHECKING, Any

import aiohttp
import brotli
import pytest
import requests
import urllib3
import zstandard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.unit.recorder_wire.callers import Caller
    from tests.unit.recorder_wire.conftest import Bench, LoopbackProvider

VALUE = {"text": "long " * 50}
PACKED: dict[str, Callable[[bytes], bytes]] = {"br": brotli.compress, "zstd": zstandard.compress}
PACKAGES = ("brotli", "brotlicffi", "compression.zstd", "backports.zstd", "zstandard")


def _says(encoding: str) -> Callable[[Any], None]:
    packed = PACKED[encoding](json.dumps(VALUE).encode())
    return lambda wire: wire.whole(packed, 200, "application/json", content_encoding=encoding)


def _without_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process where none is installed; clients that have loaded theirs before keep it."""
    for name in PACKAGES:
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.parametrize("encoding", PACKED)
def test_the_file_is_readable_and_replays_where_nothing_could_decode_it(
    bench: Bench, provider: LoopbackProvider, caller: Caller, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if (caller.name, encoding) == ("aiohttp", "zstd"):
        pytest.importorskip("backports.zstd", reason="aiohttp undoes zstd itself, or fails for want of backports.zstd")
    provider.script = _says(encoding)
    with bench.record() as brain:
        recorded = caller.heard("POST", f"{provider.url}/answers", content=b"ask")
        calls, _ = brain.ledger.read("calls")
    _without_packages(monkeypatch)
    with bench.replay():
        replayed = caller.heard("POST", f"{provider.url}/answers", content=b"ask")
    assert recorded.error is replayed.error is None
    assert json.loads(recorded.body) == VALUE
    assert recorded.body == replayed.body
    (kept,) = bench.recordings()
    assert kept["response"]["body"] == {"json": VALUE}
    assert "content-encoding" not in {**replayed.headers, **kept["response"]["headers"]}
    assert [call.get("encoded") for call in calls] == [None]


@pytest.mark.parametrize("encoding", PACKED)
def test_without_a_package_the_answer_stays_as_it_is_and_the_run_is_told(
    bench: Bench, provider: LoopbackProvider, library: Any, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _without_packages(monkeypatch)
    provider.script = _says(encoding)
    heard = []
    told: list[str] = []
    for bound in (bench.record, bench.replay):
        with (
            bound() as brain,
            library.Client(trust_env=False) as client,
            client.stream("POST", f"{provider.url}/answers", content=b"ask") as answer,
        ):
            heard.append((b"".join(answer.iter_raw()), answer.headers["content-encoding"]))
            calls, _ = brain.ledger.read("calls")
            told = told or [call["encoded"] for call in calls if call["kind"] == "recorded"]
    packed = PACKED[encoding](json.dumps(VALUE).encode())
    assert heard == [(packed, encoding), (packed, encoding)], "for the client to undo, if it can"
    assert list(bench.recordings()[0]["response"]["body"]) == ["base64"]
    assert told == [encoding]


def test_events_under_br_are_released_while_the_provider_holds_the_next(
    bench: Bench, provider: LoopbackProvider, caller: Caller
) -> None:
    read = threading.Event()
    held: list[bool] = []

    def script(wire: Any) -> None:
        packer = brotli.Compressor()
        wire.head(content_type="text/event-stream", content_encoding="br")
        wire.chunk(packer.process(b'data: {"n":0}\n\n') + packer.flush())
        held.append(read.wait(60))
        wire.chunk(packer.process(b"data: [DONE]\n\n") + packer.finish())
        wire.end()

    provider.script = script
    seen: list[list[bytes]] = [[], []]

    def on_piece(pieces: list[bytes]) -> Callable[[bytes], bool]:
        def hear(piece: bytes) -> bool:
            pieces.append(piece)
            read.set()
            return False

        return hear

    for bound, pieces in ((bench.record, seen[0]), (bench.replay, seen[1])):
        with bound():
            request = {"content": b"ask", "timeout": 60.0}
            caller.listen("POST", f"{provider.url}/answers", lambda *_: None, on_piece(pieces), request)
    assert held == [True]
    assert seen[0] == seen[1] == [b'data: {"n":0}\n\n', b"data: [DONE]\n\n"]
    assert bench.recordings()[0]["response"]["events"][-1] == {"text": "[DONE]"}


def test_a_body_that_is_not_the_br_it_claims_is_the_librarys_own_error(
    bench: Bench, provider: LoopbackProvider, caller: Caller
) -> None:
    provider.script = lambda wire: wire.whole(b"\xff\xff no br", 200, "application/json", content_encoding="br")
    with bench.record(record_errors=True):
        recorded = caller.heard("POST", f"{provider.url}/answers", content=b"ask")
    with bench.replay():
        replayed = caller.heard("POST", f"{provider.url}/answers", content=b"ask")
    assert recorded.error == replayed.error == caller.errors["DecodingError"]


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip"])
@pytest.mark.parametrize("read", ["urllib3", "requests", "aiohttp", "read1"])
def test_raw_reads_get_the_decoded_bytes_in_both(
    bench: Bench, provider: LoopbackProvider, encoding: str, read: str
) -> None:
    import gzip

    body = json.dumps(VALUE, separators=(",", ":")).encode()
    packed = {**PACKED, "gzip": gzip.compress}[encoding](body)
    provider.script = lambda wire: wire.whole(packed, 200, "application/json", content_encoding=encoding)
    heard = []
    for bound in (bench.record, bench.replay):
        with bound():
            heard.append(_raw(read, f"{provider.url}/answers"))
    assert heard == [(body, None), (body, None)]


def _raw(read: str, url: str) -> tuple[bytes, str | None]:
    """The body as a client gives it out that is told not to decode, and the encoding that it is said to have."""
    if read == "aiohttp":
        return asyncio.run(_raw_by_aiohttp(url))
    if read == "requests":
        with requests.post(url, data=b"ask", stream=True, timeout=60) as answer:
            return answer.raw.read(), answer.headers.get("content-encoding")
    with urllib3.PoolManager() as pool:
        found = pool.request("POST", url, body=b"ask", preload_content=False)
        pieces: Iterator[bytes] = found.stream(decode_content=False)
        if read == "read1":
            pieces = iter(lambda: found.read1(decode_content=False), b"")
        return b"".join(pieces), found.headers.get("content-encoding")


async def _raw_by_aiohttp(url: str) -> tuple[bytes, str | None]:
    async with aiohttp.ClientSession(auto_decompress=False) as session, session.post(url, data=b"ask") as answer:
        return await answer.read(), answer.headers.get("content-encoding")


def test_what_is_asked_for_does_not_depend_on_what_is_installed(
    bench: Bench, provider: LoopbackProvider, caller: Caller
) -> None:
    with bench.record():
        caller.heard("POST", f"{provider.url}/answers", content=b"ask", headers={"accept-encoding": "br, zstd, gzip"})
    assert provider.asked[0].headers["accept-encoding"] == "gzip, deflate"
