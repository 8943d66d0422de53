"""HTTPS through a proxy's tunnel, and HTTP/2: recorded as the provider's, replayed with nobody there."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import httpx
import httpx2
import pytest
import requests
import urllib3

x509 = pytest.importorskip("cryptography.x509", reason="cryptography is not installed")

if TYPE_CHECKING:
    from tests.unit.recorder_wire.conftest import Bench, LoopbackProvider

_LONGEST = 60.0


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a key and a certificate for localhost that it signed itself."""
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    encoding = serialization.Encoding.PEM
    kept = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(kept + made.public_bytes(encoding))
    return path


@dataclass
class Listener:
    """Serves each connection on a thread of its own until it is told to stop."""

    serve: Callable[[socket.socket], None]
    port: int = 0
    asked: list[Any] = field(default_factory=list)
    _open: list[socket.socket] = field(default_factory=list)

    def start(self) -> None:
        """Listen."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._open.append(connection)
                threading.Thread(target=self._served, args=(connection,), daemon=True).start()

    def _served(self, connection: socket.socket) -> None:
        connection.settimeout(_LONGEST)
        with contextlib.suppress(OSError), connection:
            self.serve(connection)

    def stop(self) -> None:
        """Listen no longer, and drop who is still connected."""
        for one in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(_LONGEST)
        assert not self._thread.is_alive()


@contextlib.contextmanager
def _listening(serve: Callable[[socket.socket], None]) -> Iterator[Listener]:
    made = Listener(serve)
    made.start()
    yield made
    made.stop()


def _join(one: socket.socket, other: socket.socket) -> None:
    """Hand on what either says, and that it has said all; the other may go on."""

    def hand_on(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(65536):
                target.sendall(piece)
        # Not both ways: what is still on its way in the other direction would be lost.
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    back = threading.Thread(target=hand_on, args=(other, one), daemon=True)
    back.start()
    hand_on(one, other)
    back.join(_LONGEST)


@dataclass
class Secured:
    """What a bench has to know of a provider, where it speaks TLS."""

    port: int
    asked: list[Any]

    @property
    def url(self) -> str:
        """Base URL below which everything is the provider's."""
        return f"https://localhost:{self.port}/v1"


@pytest.fixture
def secured(provider: LoopbackProvider, certificate: Path) -> Iterator[tuple[Secured, Listener]]:
    """The provider behind TLS, and what ends TLS for it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    def serve(connection: socket.socket) -> None:
        with (
            context.wrap_socket(connection, server_side=True) as plain,
            socket.create_connection(("127.0.0.1", provider.port), _LONGEST) as behind,
        ):
            _join(plain, behind)

    with _listening(serve) as listener:
        yield Secured(port=listener.port, asked=provider.asked), listener


@pytest.fixture
def proxy(secured: tuple[Secured, Listener]) -> Iterator[Listener]:
    """A proxy that opens tunnels; `asked` are the hosts that it was asked for."""

    def serve(connection: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            head += connection.recv(4096)
        method, target, _ = head.split(b" ", 2)
        listener.asked.append((method.decode(), target.decode()))
        connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        port = int(target.rpartition(b":")[2])
        with socket.create_connection(("127.0.0.1", port), _LONGEST) as behind:
            _join(connection, behind)

    with _listening(serve) as listener:
        yield listener


def _httpx(module: Any) -> Callable[[str, str | None, Path], Any]:
    def ask(url: str, proxy: str | None, certificate: Path) -> Any:
        context = ssl.create_default_context(cafile=str(certificate))
        with module.Client(proxy=proxy, verify=context, trust_env=proxy is None) as client:
            return client.post(url, content=b"ask").json()

    return ask


def _httpx_async(module: Any) -> Callable[[str, str | None, Path], Any]:
    def ask(url: str, proxy: str | None, certificate: Path) -> Any:
        context = ssl.create_default_context(cafile=str(certificate))

        async def main() -> Any:
            async with module.AsyncClient(proxy=proxy, verify=context, trust_env=proxy is None) as client:
                return (await client.post(url, content=b"ask")).json()

        return asyncio.run(main())

    return ask


def _aiohttp(url: str, proxy: str | None, certificate: Path) -> Any:
    context = ssl.create_default_context(cafile=str(certificate))

    async def main() -> Any:
        async with (
            aiohttp.ClientSession(trust_env=proxy is None) as session,
            session.post(url, data=b"ask", proxy=proxy, ssl=context) as answer,
        ):
            return await answer.json()

    return asyncio.run(main())


def _requests(url: str, proxy: str | None, certificate: Path) -> Any:
    with requests.Session() as session:
        session.trust_env = proxy is None
        proxies = {"https": proxy} if proxy else None
        return session.post(url, data=b"ask", proxies=proxies, verify=str(certificate), timeout=60).json()


def _urllib3(url: str, proxy: str | None, certificate: Path) -> Any:
    if proxy is None:
        pytest.skip("urllib3 itself reads no environment")
    with urllib3.ProxyManager(proxy, ca_certs=str(certificate), retries=False, timeout=60) as pool:
        return pool.request("POST", url, body=b"ask").json()


ASKS: dict[str, Callable[[str, str | None, Path], Any]] = {
    "httpx": _httpx(httpx),
    "httpx async": _httpx_async(httpx),
    "httpx2": _httpx(httpx2),
    "httpx2 async": _httpx_async(httpx2),
    "aiohttp": _aiohttp,
    "requests": _requests,
    "urllib3": _urllib3,
}


@pytest.mark.parametrize("told", ["argument", "environment"])
@pytest.mark.parametrize("client", ASKS)
def test_a_call_through_a_tunnel_is_the_providers_and_replays_with_the_proxy_gone(
    bench: Bench,
    secured: tuple[Secured, Listener],
    proxy: Listener,
    certificate: Path,
    *,
    client: str,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("NO_PROXY", "no_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "REQUESTS_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    address = f"http://127.0.0.1:{proxy.port}"
    if told == "environment":
        monkeypatch.setenv("HTTPS_PROXY", address)
        monkeypatch.setenv("https_proxy", address)
    given = address if told == "argument" else None
    bench = dataclasses.replace(bench, provider=secured[0])  # type: ignore[arg-type]
    url = f"{secured[0].url}/answers"
    with bench.record() as brain:
        assert ASKS[client](url, given, certificate) == {"ok": True}
        # The proxy is in this process, and its own connection to the provider is one that no library has announced.
        kinds = [call["kind"] for call in brain.ledger.read("calls")[0] if call["kind"] != "unseen"]
        assert kinds == ["recorded"]
    assert proxy.asked == [("CONNECT", f"localhost:{secured[0].port}")]
    (kept,) = bench.recordings()
    assert (kept["request"]["provider"], kept["request"]["url"]) == ("probe", "{PROBE_URL}/answers")
    proxy.stop()
    secured[1].stop()
    for mode in (bench.replay, bench.record_if_missing):
        with mode() as brain:
            assert ASKS[client](url, given, certificate) == {"ok": True}
            assert [call["kind"] for call in brain.ledger.read("calls")[0]] == ["replayed"]


@pytest.mark.parametrize("client", ["requests", "urllib3", "httpx", "aiohttp"])
def test_a_call_that_is_no_providers_still_gets_its_tunnel(
    bench: Bench, secured: tuple[Secured, Listener], proxy: Listener, certificate: Path, client: str
) -> None:
    with bench.record():
        elsewhere = f"{secured[0].url}/answers"  # the bench's provider is the one without TLS
        assert ASKS[client](elsewhere, f"http://127.0.0.1:{proxy.port}", certificate) == {"ok": True}
    assert len(proxy.asked) == 1
    assert bench.files() == []


@pytest.fixture
def second_version(certificate: Path) -> Iterator[Listener]:
    """A provider that speaks HTTP/2 and nothing else."""
    connection_of = pytest.importorskip("h2.connection", reason="h2 is not installed")
    import h2.config
    import h2.events

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.set_alpn_protocols(["h2"])

    def serve(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as plain:
            state = connection_of.H2Connection(config=h2.config.H2Configuration(client_side=False))
            state.initiate_connection()
            plain.sendall(state.data_to_send())
            while data := plain.recv(65536):
                for event in state.receive_data(data):
                    if isinstance(event, h2.events.StreamEnded):
                        listener.asked.append(event.stream_id)
                        head = [(":status", "200"), ("content-type", "application/json"), ("set-cookie", "sid=abc")]
                        state.send_headers(event.stream_id, head)
                        state.send_data(event.stream_id, b'{"ok": true}', end_stream=True)
                plain.sendall(state.data_to_send())

    with _listening(serve) as listener:
        yield listener


@pytest.fixture
def urllib3_speaks_it() -> Iterator[None]:
    """urllib3 as a program has it that asked for HTTP/2."""
    version = pytest.importorskip("urllib3.http2", reason="this urllib3 knows no HTTP/2")
    version.inject_into_urllib3()
    yield
    version.extract_from_urllib3()


@pytest.mark.usefixtures("urllib3_speaks_it")
@pytest.mark.parametrize("preload", [True, False])
def test_urllib3_records_and_replays_http_2(
    bench: Bench, second_version: Listener, certificate: Path, preload: bool
) -> None:
    bench = dataclasses.replace(bench, provider=Secured(second_version.port, second_version.asked))  # type: ignore[arg-type]
    heard = []
    for mode in (bench.record, bench.replay):
        with mode(), urllib3.PoolManager(ca_certs=str(certificate), maxsize=1, block=True, retries=False) as pool:
            for _ in range(2):  # a connection that is not given back would keep the second waiting for ever
                answer = pool.request("POST", f"{bench.provider.url}/answers", body=b"ask", preload_content=preload)
                heard.append((answer.status, answer.data, dict(answer.headers)))
    assert heard[:2] == heard[2:]
    assert heard[0] == (200, b'{"ok":true}', {"content-type": "application/json"})
    assert len(bench.files()) == 2


@pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])
def test_httpx_records_and_replays_http_2(
    bench: Bench, second_version: Listener, certificate: Path, library: Any
) -> None:
    bench = dataclasses.replace(bench, provider=Secured(second_version.port, second_version.asked))  # type: ignore[arg-type]
    heard = []
    for mode in (bench.record, bench.replay):
        context = ssl.create_default_context(cafile=str(certificate))
        with mode(), library.Client(http2=True, verify=context, trust_env=False) as client:
            answer = client.post(f"{bench.provider.url}/answers", content=b"ask")
            heard.append((answer.status_code, answer.content))
    assert heard == [(200, b'{"ok":true}')] * 2
    assert len(bench.files()) == 1
