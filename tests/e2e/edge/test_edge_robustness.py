"""What an edge survives: callers who send nonsense or nothing, providers who cannot be trusted, its own violent end."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.e2e.edge.conftest import TEST, Edge, EdgeBench, id_of

from stackproof.edge import process
from stackproof.errors import StackStartError
from stackproof.recorder import recording
from stackproof.recorder.mode import Mode
from stackproof.recorder.settings import Provider

LONGEST = 60.0
ID = id_of(TEST)
CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}


def connected(edge: Edge) -> socket.socket:
    return socket.create_connection(("127.0.0.1", edge.places.main), timeout=LONGEST)


def send(edge: Edge, data: bytes) -> bytes:
    """What comes back for these bytes: one whole answer, or what there is until the edge closes the connection."""
    with connected(edge) as raw:
        with contextlib.suppress(OSError):
            raw.sendall(data)
        got = b""
        with contextlib.suppress(OSError):
            while not _whole(got) and (piece := raw.recv(65536)):
                got += piece
        return got


def _whole(answer: bytes) -> bool:
    head, end, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: *(\d+)", head.lower())
    return bool(end) and len(body) >= int(length[1] if length else 0)


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.") else 0


def alive(edge: Edge) -> bool:
    return httpx.get(f"{edge.places.url}/.stackproof/health", trust_env=False, timeout=LONGEST).status_code == 200


# -- callers


def test_bad_requests_are_answered_and_survived(edges: EdgeBench) -> None:
    with edges.replay() as edge:
        unknown = httpx.get(f"{edge.places.url}/opnai/models", trust_env=False, timeout=LONGEST)
        assert unknown.status_code == 404
        assert unknown.headers["x-should-retry"] == "false"
        assert "no provider has the prefix /opnai; there are: probe, anthropic" in unknown.json()["message"]
        proxied = send(edge, b"GET http://api.openai.com/v1/models HTTP/1.1\r\nHost: api.openai.com\r\n\r\n")
        assert status(proxied) == 404
        assert b"the edge is no proxy" in proxied
        tunnel = send(edge, b"CONNECT api.openai.com:443 HTTP/1.1\r\nHost: api.openai.com:443\r\n\r\n")
        assert status(tunnel) in (400, 404)
        huge = send(edge, b"GET /probe/x HTTP/1.1\r\nHost: x\r\nX-Big: " + b"a" * 200_000 + b"\r\n\r\n")
        assert status(huge) == 400
        chunked = b"POST /probe/x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n"
        assert status(send(edge, chunked)) == 400
        assert status(send(edge, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 no http\r\n\r\n")) == 400
        short = b"POST /probe/x HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc"
        with connected(edge) as raw:
            raw.sendall(short)
        upgrade = {
            "connection": "Upgrade",
            "upgrade": "websocket",
            "sec-websocket-key": "x",
            "sec-websocket-version": "13",
        }
        assert httpx.get(f"{edge.prefix}/ws", headers=upgrade, trust_env=False, timeout=LONGEST).status_code == 501
        assert alive(edge)
        assert "Traceback" not in edge.log.read_text()
        assert edge.calls() == [], "nothing of this was a call"


def test_an_id_header_of_many_kilobytes_is_read(edges: EdgeBench, provider: Any) -> None:
    with edges.record() as edge:
        headers = {"X-Provider-Data": json.dumps({"__test_id": TEST.name, "keys": "k" * 30_000})}
        assert httpx.get(f"{edge.url}/x", headers=headers, trust_env=False, timeout=LONGEST).status_code == 200
        assert edge.lines("calls")[-1]["scope"] == TEST.name


def test_a_caller_who_waits_to_be_asked_for_its_body_is_asked(edges: EdgeBench, provider: Any) -> None:
    provider.script = lambda wire: wire.json({"body": wire.asked.body.decode()})
    with edges.record() as edge, connected(edge) as raw:
        head = f"POST /probe/x HTTP/1.1\r\nHost: x\r\nX-Provider-Data: {ID['X-Provider-Data']}\r\nContent-Length: 4\r\n"
        raw.sendall(f"{head}Expect: 100-continue\r\nConnection: close\r\n\r\n".encode())
        assert raw.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        raw.sendall(b"body")
        answer = b""
        while piece := raw.recv(65536):
            answer += piece
        assert answer.startswith(b"HTTP/1.1 200")
        assert b'{"body":"body"}' in answer
        assert "expect" not in provider.asked[0].headers


def test_a_slow_caller_keeps_nobody_else_waiting(edges: EdgeBench, provider: Any) -> None:
    provider.script = lambda wire: wire.whole(b"x" * 16_000_000, 200, "application/octet-stream")
    with edges.record() as edge:
        slow = connected(edge)
        head = f"GET /probe/big HTTP/1.1\r\nHost: x\r\nX-Provider-Data: {ID['X-Provider-Data']}\r\n\r\n"
        slow.sendall(head.encode())
        assert slow.recv(100).startswith(b"HTTP/1.1 200")
        dripping = connected(edge)
        dripping.sendall(b"POST /probe/x HTTP/1.1\r\nHo")
        provider.script = lambda wire: wire.json({"ok": True})
        assert httpx.get(f"{edge.url}/quick", headers=ID, trust_env=False, timeout=LONGEST).status_code == 200
        # Meanwhile the slow one was not given up: it still gets all of its answer.
        got = 0
        while got < 16_000_000 and (piece := slow.recv(1 << 20)):
            got += len(piece)
        assert got >= 16_000_000
        slow.close()
        dripping.close()
        assert alive(edge)


# -- providers


@contextlib.contextmanager
def _over_tls(pem: Path) -> Iterator[int]:
    """A provider with this certificate; its port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with contextlib.suppress(OSError), context.wrap_socket(connection, server_side=True) as secure:
                    secure.settimeout(LONGEST)
                    secure.recv(65536)
                    body = b'{"over": "tls"}'
                    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
                    secure.sendall(head.encode() + body)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(LONGEST)


def test_a_provider_that_vouches_for_itself_is_refused_and_one_that_is_vouched_for_is_called(
    edges: EdgeBench, bench: Any, certificates: Any, tmp_path: Path
) -> None:
    pem = certificates.of_this_machine(tmp_path)
    with _over_tls(pem) as port:
        secure = (Provider(name="probe", variable="PROBE_URL", prefixes=(f"https://127.0.0.1:{port}/v1",)),)
        with edges.record(providers=secure) as edge:
            with pytest.raises(httpx.RemoteProtocolError):
                httpx.get(f"{edge.url}/x", headers=ID, trust_env=False, timeout=LONGEST)
            told = edge.log.read_text()
            assert "TLSError" in told
            assert "self-signed certificate" in told
            assert edge.lines("calls")[-1]["reason"].startswith("TLSError")
        assert bench.files() == []
        with edges.record(providers=secure, environ={"SSL_CERT_FILE": str(pem)}) as edge:
            assert httpx.get(f"{edge.url}/x", headers=ID, trust_env=False, timeout=LONGEST).json() == {"over": "tls"}
    (kept,) = bench.recordings()
    assert kept["request"]["url"] == "{PROBE_URL}/x"


def test_a_proxy_leads_to_the_provider_and_netrc_signs_nothing(
    edges: EdgeBench, bench: Any, provider: Any, tmp_path: Path
) -> None:
    (tmp_path / "netrc").write_text("machine llm.invalid login me password secret\n")
    far = (Provider(name="probe", variable="PROBE_URL", prefixes=("http://llm.invalid/v1",)),)
    environ = {"http_proxy": f"http://127.0.0.1:{provider.port}", "NETRC": str(tmp_path / "netrc")}
    with edges.record(providers=far, environ=environ) as edge:
        assert httpx.get(f"{edge.url}/x", headers=ID, trust_env=False, timeout=LONGEST).json() == {"ok": True}
    (asked,) = provider.asked
    assert asked.path == "http://llm.invalid/v1/x"
    assert "authorization" not in asked.headers
    assert bench.recordings()[0]["request"]["url"] == "{PROBE_URL}/x"


# -- its own end


def test_killed_while_it_records_it_leaves_no_half_file(edges: EdgeBench, bench: Any, provider: Any) -> None:
    def script(wire: Any) -> None:
        if "/whole" in wire.asked.path:
            wire.json({"words": ["word"] * 20_000})
            return
        wire.head(content_type="text/event-stream")
        for number in range(1000):
            wire.chunk(f'data: {{"n": {number}}}\n\n'.encode())
            time.sleep(0.005)

    provider.script = script
    ended = pytest.raises(StackStartError, match="the edge was ended by SIGKILL by itself")
    with ended, edges.run(Mode.RECORD, kept=False) as edge:
        folder = Path(edge.settings.run_dir)
        threads = [
            threading.Thread(target=_call, args=(f"{edge.url}/{kind}{number}",), daemon=True)
            for number in range(10)
            for kind in ("whole?", "stream?")
        ]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + LONGEST
        while not list((folder / "staged").rglob("*.json")) and time.monotonic() < deadline:
            time.sleep(0.005)
        os.kill(edge.pid, signal.SIGKILL)
        for thread in threads:
            thread.join(LONGEST)
    staged = list((folder / "staged").rglob("*.json"))
    assert staged
    for path in staged:
        assert recording.read(str(path)) is not None, path
    assert bench.files() == [], "nothing of it is kept by itself"


def _call(url: str) -> None:
    with contextlib.suppress(httpx.HTTPError):
        httpx.get(url, headers=ID, trust_env=False, timeout=LONGEST)


def test_an_idle_connection_does_not_keep_it(edges: EdgeBench) -> None:
    ended = pytest.raises(StackStartError, match="the edge exited with code 0 by itself")
    with ended, edges.replay() as edge, httpx.Client(trust_env=False, timeout=LONGEST) as http:
        http.get(f"{edge.url}/x", headers=ID)
        os.kill(edge.pid, signal.SIGTERM)
        deadline = time.monotonic() + LONGEST  # of an hour for which an idle connection is kept
        while Path(f"/proc/{edge.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
            assert time.monotonic() < deadline
            time.sleep(0.02)


def test_an_edge_whose_packages_cannot_be_had_says_so_in_one_sentence(tmp_path: Path) -> None:
    environ = {
        **os.environ,
        "XDG_CACHE_HOME": str(tmp_path),
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(tmp_path),
    }
    said: list[str] = []
    with pytest.raises(StackStartError, match="the edge needs aiohttp in an environment of its own") as caught:
        process.prepare(environment=environ, say=said.append, check=lambda: None)
    assert "PIP_FIND_LINKS" in (caught.value.hint or "")
    assert said[0].startswith("installing edge")
