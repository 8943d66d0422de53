"""A company's network on loopback: a proxy that wants a password and looks into TLS, with an authority of its own.

Nobody else knows the names of its providers, so a call that arrives has come through it.
"""

from __future__ import annotations

import base64
import contextlib
import datetime
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

USER, PASSWORD = "desk", "pr0xy-s3cret"
_LONGEST = 120.0
_PEM = serialization.Encoding.PEM
Headers = dict[str, str]
Answer = tuple[int, str, bytes]


class Authority:
    """Certificates of a company. file: its own, for whoever trusts it."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._key = folder, ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Authority of a company")])
        made = self._builder(self._name, self._key.public_key()).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        self._own = made.sign(self._key, hashes.SHA256())
        self.file = folder / "authority.pem"
        self.file.write_bytes(self._own.public_bytes(_PEM))
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._lock = threading.Lock()

    def context(self, host: str) -> ssl.SSLContext:
        """What a server of `host` shows."""
        with self._lock:
            if host not in self._contexts:
                self._contexts[host] = self._made(host)
            return self._contexts[host]

    def _made(self, host: str) -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
        names = x509.SubjectAlternativeName([x509.DNSName(host)])
        signed = self._builder(subject, key.public_key()).add_extension(names, critical=False)
        certificate = signed.sign(self._key, hashes.SHA256())
        kept = key.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        file = self._folder / f"{host}.pem"
        file.write_bytes(kept + certificate.public_bytes(_PEM))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        own = x509.SubjectKeyIdentifier.from_public_key(key)
        above = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(own, critical=False)
            .add_extension(above, critical=False)
        )


def model(host: str, path: str, _: Headers, body: bytes) -> Answer:
    """What a provider answers: a completion to whatever is asked, in OpenAI's or Bedrock's form."""
    said = json.loads(body or b"{}")
    if path.endswith("/invoke"):
        return 200, "application/json", json.dumps({"completion": f"{host} heard {said['prompt']}"}).encode()
    asked = said["messages"][-1]["content"]
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": f"heard {asked}"}}
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    answer = {"id": "c-1", "object": "chat.completion", "created": 1, "model": said["model"], "choices": [choice]}
    return 200, "application/json", json.dumps({**answer, "usage": usage}).encode()


@dataclass
class Company:
    """The proxy. asked: what it was asked for, as (`CONNECT` or `POST`, host). answer: who answers behind it."""

    authority: Authority
    answer: Callable[[str, str, Headers, bytes], Answer] = model
    asked: list[tuple[str, str]] = field(default_factory=list)
    turned_away: int = 0
    _open: list[socket.socket] = field(default_factory=list)

    @property
    def url(self) -> str:
        """What HTTPS_PROXY is set to."""
        return f"http://{USER}:{PASSWORD}@127.0.0.1:{self.port}"

    @contextlib.contextmanager
    def listening(self) -> Iterator[Company]:
        """For as long as the context lasts."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port: int = listener.getsockname()[1]
            thread = threading.Thread(target=self._accept, args=(listener,), daemon=True)
            thread.start()
            try:
                yield self
            finally:
                for one in (listener, *self._open):
                    with contextlib.suppress(OSError):
                        one.shutdown(socket.SHUT_RDWR)
                thread.join(_LONGEST)

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                self._open.append(connection)
                threading.Thread(target=self._served, args=(connection,), daemon=True).start()

    def _served(self, connection: socket.socket) -> None:
        connection.settimeout(_LONGEST)
        with contextlib.suppress(OSError, ValueError), connection:
            while (head := _head(connection)) is not None:
                line, headers, rest = head
                if not self._known(headers):
                    self.turned_away += 1
                    connection.sendall(
                        b"HTTP/1.1 407 Proxy Authentication Required\r\n"
                        b'Proxy-Authenticate: Basic realm="company"\r\nContent-Length: 0\r\n\r\n'
                    )
                    continue
                method, target = line.split(" ")[:2]
                if method == "CONNECT":
                    host = target.rpartition(":")[0]
                    self.asked.append((method, host))
                    connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                    with self.authority.context(host).wrap_socket(connection, server_side=True) as inside:
                        while (asked := _head(inside)) is not None:
                            self._reply(inside, host, *asked)
                    return
                host = target.partition("://")[2].partition("/")[0].partition(":")[0]
                self.asked.append((method, host))
                self._reply(connection, host, line, headers, rest)

    def _known(self, headers: Headers) -> bool:
        wanted = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        return headers.get("proxy-authorization") == f"Basic {wanted}"

    def _reply(self, to: socket.socket, host: str, line: str, headers: Headers, rest: bytes) -> None:
        body, length = rest, int(headers.get("content-length", "0"))
        while len(body) < length:
            body += to.recv(65536)
        path = line.split(" ")[1].partition("?")[0]
        status, kind, answer = self.answer(host, path, headers, body)
        head = f"HTTP/1.1 {status} OK\r\nContent-Type: {kind}\r\nContent-Length: {len(answer)}\r\n\r\n"
        to.sendall(head.encode() + answer)


def _head(connection: socket.socket) -> tuple[str, Headers, bytes] | None:
    """First line, headers and what came behind them; None where nothing more comes."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return None
        data += piece
    head, _, rest = data.partition(b"\r\n\r\n")
    line, *fields = head.decode("latin-1").split("\r\n")
    return line, {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in fields)}, rest
