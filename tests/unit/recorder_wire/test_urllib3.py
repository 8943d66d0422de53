"""urllib3 and requests in their own ways: reading, giving connections back, retries, proxies, bodies."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.unit.recorder_wire.conftest import Bench, LoopbackProvider, Wire

urllib3: Any = pytest.importorskip("urllib3", reason="urllib3 is not installed")
requests: Any = pytest.importorskip("requests", reason="requests is not installed")
_SSE = "text/event-stream"
_EVENTS = (b'data: {"n":0}\n\n', b'data: {"n":1}\n\ndata: {"n":2}\n\n', b"data: [DONE]\n\n")


def _stream(wire: Wire) -> None:
    wire.head(content_type=_SSE)
    for piece in _EVENTS:
        wire.chunk(piece)
        wire.taken()
    wire.end()


def _twice(bench: Bench, use: Callable[[Any], Any], **options: Any) -> list[Any]:
    """What `use` gives for a pool manager, recorded and then replayed."""
    got = []
    for run in (bench.record, bench.replay):
        with run(record_errors=True), urllib3.PoolManager(**options) as pool:
            got.append(use(pool))
    return got


def _into(response: Any) -> list[bytes]:
    read, room = [], bytearray(10)
    while count := response.readinto(room):
        read.append(bytes(room[:count]))
    return read


def _by(read: Callable[[], bytes]) -> list[bytes]:
    return list(iter(read, b""))


_READERS: dict[str, Callable[[Any], Any]] = {
    "stream": lambda response: list(response.stream()),
    "stream small": lambda response: list(response.stream(7)),
    "read": lambda response: response.read(),
    "read some": lambda response: _by(lambda: response.read(10)),
    "read raw": lambda response: _by(lambda: response.read(10, decode_content=False)),
    "readinto": _into,
    "iterate": list,
    "text": lambda response: list(io.TextIOWrapper(response)),
    "data": lambda response: [response.data, response.data],
    "mixed": lambda response: [response.read(5), list(response.stream(50)), response.read(), response.closed],
}


@pytest.mark.parametrize("reader", _READERS)
def test_every_way_to_read_gives_the_same_in_replay(bench: Bench, provider: LoopbackProvider, reader: str) -> None:
    provider.script = _stream

    def use(pool: Any) -> Any:
        response = pool.request("POST", f"{provider.url}/answers", body=b"ask", preload_content=False)
        return _READERS[reader](response)

    recorded, replayed = _twice(bench, use)
    assert recorded == replayed
    if reader == "stream":
        assert replayed == list(_EVENTS)


@pytest.mark.skipif(not hasattr(urllib3.HTTPResponse, "read1"), reason="read1 came with urllib3 2.1")
def test_read1_gives_one_chunk_at_a_time(bench: Bench, provider: LoopbackProvider) -> None:
    provider.script = _stream

    def use(pool: Any) -> Any:
        response = pool.request("POST", f"{provider.url}/answers", body=b"ask", preload_content=False)
        return _by(lambda: response.read1(1000))

    recorded, replayed = _twice(bench, use)
    assert recorded == replayed == list(_EVENTS)


def test_a_preloaded_answer_is_the_same_in_replay(bench: Bench, provider: LoopbackProvider) -> None:
    provider.script = lambda wire: wire.json({"id": "cmpl-1", "object": "chat.completion", "created": 4})

    def use(pool: Any) -> Any:
        response = pool.request("POST", f"{provider.url}/answers", json={"model": "m"})
        return response.json(), response.data, response.status, response.reason, response.url

    recorded, replayed = _twice(bench, use)
    assert recorded == replayed
    assert recorded[0]["id"].startswith("rec-")


@pytest.mark.parametrize("preload", [True, False])
def test_connections_go_back_to_a_pool_that_has_only_one(
    bench: Bench, provider: LoopbackProvider, preload: bool
) -> None:
    def use(pool: Any) -> Any:
        got = []
        for number in range(4):
            response = pool.request(
                "POST", f"{provider.url}/answers/{number}", body=b"ask", preload_content=preload, pool_timeout=60
            )
            if number == 2 and not preload:
                response.drain_conn()  # as who wants no more than the head does
                response.release_conn()
            else:
                got.append(response.data)
        return got

    recorded, replayed = _twice(bench, use, maxsize=1, block=True)
    assert recorded == replayed


def test_a_retried_call_is_recorded_for_each_attempt_and_replayed_without_the_wait(
    bench: Bench, provider: LoopbackProvider
) -> None:
    def script(wire: Wire) -> None:
        if len(provider.asked) % 3:
            wire.json({"error": "busy"}, status=503, **({"retry_after": "1"} if len(provider.asked) == 1 else {}))
        else:
            wire.json({"ok": True})

    provider.script = script
    retry = urllib3.Retry(total=3, status_forcelist=[503], backoff_factor=0.3, allowed_methods=None)

    def use(pool: Any) -> Any:
        began = time.monotonic()
        response = pool.request("POST", f"{provider.url}/answers", body=b"ask", retries=retry)
        return response.json(), len(response.retries.history), time.monotonic() - began

    recorded, replayed = _twice(bench, use)
    assert recorded[:2] == replayed[:2] == ({"ok": True}, 2)
    assert recorded[2] > 1
    assert len(bench.files()) == 3
    # Whoever waits takes longer than a second each time; a busy machine does not hold up each of them.
    took = [replayed[2]]
    for _ in range(5):
        with bench.replay(), urllib3.PoolManager() as pool:
            took.append(use(pool)[2])
    assert min(took) < 1


def test_a_call_that_is_not_replayed_waits_as_it_always_did(bench: Bench, provider: LoopbackProvider) -> None:
    provider.script = lambda wire: wire.json({"error": "busy"}, status=503)
    with bench.replay_passing(), urllib3.PoolManager() as pool:
        assert pool.request("GET", f"{provider.url}/unknown").status == 424
        began = time.monotonic()
        session = requests.Session()
        session.trust_env = False
        retry = urllib3.Retry(total=2, status_forcelist=[503], backoff_factor=0.3, raise_on_status=False)
        session.mount("http://", requests.adapters.HTTPAdapter(max_retries=retry))
        assert session.get(f"http://127.0.0.1:{provider.port}/other").status_code == 503
        session.close()
    assert time.monotonic() - began >= 0.5


def test_a_broken_connection_that_is_retried_is_not_kept(bench: Bench, provider: LoopbackProvider) -> None:
    def script(wire: Wire) -> None:
        if len(provider.asked) == 1:
            wire.reset()
        else:
            wire.json({"ok": True})

    provider.script = script

    def use(pool: Any) -> Any:
        return pool.request("GET", f"{provider.url}/answers", retries=2).json()

    with bench.record(), urllib3.PoolManager() as pool:
        assert use(pool) == {"ok": True}
    assert len(bench.files()) == 1
    with bench.replay(), urllib3.PoolManager() as pool:
        assert use(pool) == {"ok": True}


def test_redirects_are_followed_by_the_library_and_each_is_recorded(bench: Bench, provider: LoopbackProvider) -> None:
    def script(wire: Wire) -> None:
        if wire.asked.path.endswith("/old"):
            wire.whole(b"over there", 307, "text/plain", location=f"{provider.url}/new")
        else:
            wire.json({"got": wire.asked.body.decode()})

    provider.script = script

    def use(pool: Any) -> Any:
        with requests.Session() as session:
            session.trust_env = False
            other = session.post(f"{provider.url}/old", data=b"other")
        return pool.request("POST", f"{provider.url}/old", body=b"ask").json(), other.json(), len(other.history)

    recorded, replayed = _twice(bench, use)
    assert recorded == replayed == ({"got": "ask"}, {"got": "other"}, 1)
    assert [kept["response"]["complete"] for kept in bench.recordings()] == [True] * 4


def test_a_call_through_a_proxy_is_recorded_as_the_providers(bench: Bench, provider: LoopbackProvider) -> None:
    for run in (bench.record, bench.replay):
        with run(), urllib3.ProxyManager(f"http://127.0.0.1:{provider.port}") as pool:
            assert pool.request("POST", f"{provider.url}/answers?x=1", body=b"ask").json() == {"ok": True}
    (asked,) = provider.asked
    assert asked.path == f"{provider.url}/answers?x=1"
    (kept,) = bench.recordings()
    assert kept["request"]["path"] == "/answers"


def _generated() -> Iterator[bytes]:
    yield b"one "
    yield b"two"


_BODIES: dict[str, tuple[Callable[[], dict[str, Any]], str]] = {
    "json": (lambda: {"json": {"b": 1, "a": "é"}}, "json"),
    "bytes": (lambda: {"data": b"\x00\x01"}, "sha256"),
    "text": (lambda: {"data": "plain wörds"}, "sha256"),
    "fields": (lambda: {"data": {"a": "1", "b": "two words"}}, "form"),
    "file": (lambda: {"data": io.BytesIO(b"x" * 300_000)}, "sha256"),
    "upload": (lambda: {"files": {"file": ("a.png", b"\x89PNG\x00", "image/png")}, "data": {"p": "v"}}, "multipart"),
    "generator": (lambda: {"data": _generated()}, "sha256"),
}


@pytest.mark.parametrize("name", _BODIES)
def test_every_kind_of_request_body_reaches_the_provider_and_matches(
    bench: Bench, provider: LoopbackProvider, name: str
) -> None:
    make, kept_as = _BODIES[name]
    for run in (bench.record, bench.replay):
        with run(), requests.Session() as session:
            session.trust_env = False
            answer = session.post(f"{provider.url}/answers", **make())
            assert (answer.status_code, answer.json()) == (200, {"ok": True})
    (kept,) = bench.recordings()
    assert kept_as in kept["request"]["body"]
    (asked,) = provider.asked
    if name == "generator":
        assert asked.body == b"one two"
    if name == "file":
        assert len(asked.body) == 300_000


@pytest.mark.parametrize("reader", ["iter_lines", "iter_content", "small pieces", "raw"])
def test_a_stream_of_requests_is_the_same_in_replay(bench: Bench, provider: LoopbackProvider, reader: str) -> None:
    provider.script = _stream

    def use(_: Any) -> Any:
        with requests.Session() as session:
            session.trust_env = False
            with session.post(f"{provider.url}/answers", data=b"ask", stream=True) as response:
                match reader:
                    case "iter_lines":
                        return list(response.iter_lines(decode_unicode=True))
                    case "iter_content":
                        return list(response.iter_content(None))
                    case "small pieces":
                        return list(response.iter_content(5))
                    case _:
                        return response.raw.read(12), response.raw.read()

    recorded, replayed = _twice(bench, use)
    assert recorded == replayed


def test_what_only_other_packages_can_undo_is_not_asked_for(bench: Bench, provider: LoopbackProvider) -> None:
    with bench.record(), urllib3.PoolManager() as pool:
        for encoding in ("gzip, br, zstd", "gzip", None):
            pool.request("GET", f"{provider.url}/x", headers={"Accept-Encoding": encoding} if encoding else {})
    assert [asked.headers["accept-encoding"] for asked in provider.asked] == ["gzip, deflate", "gzip", "identity"]


def test_the_id_goes_to_the_stack_and_not_where_it_redirects(bench: Bench, provider: LoopbackProvider) -> None:
    stack_url = f"http://127.0.0.1:{provider.port}/stack"

    def script(wire: Wire) -> None:
        if wire.asked.path.startswith("/stack/"):
            wire.whole(b"", 307, "text/plain", location=f"http://localhost:{provider.port}/elsewhere")
        else:
            wire.json({})

    provider.script = script
    theirs = {"X-Provider-Data": '{"key": "k"}'}
    with bench.replay_passing(stack_url=stack_url), urllib3.PoolManager(headers=theirs) as pool:
        pool.request("POST", f"{stack_url}/v1/x", body=b"ask")
        assert dict(pool.headers) == theirs
    first, second = provider.asked
    assert set(json.loads(first.headers["x-provider-data"])) == {"key", "__test_id"}
    assert second.headers["x-provider-data"] == '{"key": "k"}'


def test_a_length_that_the_body_does_not_have_is_the_librarys_own_error(
    bench: Bench, provider: LoopbackProvider
) -> None:
    def script(wire: Wire) -> None:
        wire.bare(200)
        wire.raw(b"abc")
        wire.leave()

    provider.script = script

    def use(pool: Any) -> Any:
        with pytest.raises(urllib3.exceptions.ProtocolError) as caught:
            pool.request("GET", f"{provider.url}/x", retries=False)
        return type(caught.value)

    recorded, replayed = _twice(bench, use)
    assert recorded == replayed
