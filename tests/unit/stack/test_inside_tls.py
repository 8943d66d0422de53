"""The end of what goes to an engine over TLS, said behind all that was written before."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
from pathlib import Path

import pytest

from stackproof.stack.engine import inside


@pytest.fixture
def server(tmp_path: Path) -> ssl.SSLContext:
    files = {"-keyout": tmp_path / "key.pem", "-out": tmp_path / "cert.pem"}
    words = [str(word) for pair in files.items() for word in pair]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=engine", *words],
        check=True,
        capture_output=True,
        timeout=120,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files["-out"], files["-keyout"])
    return context


def test_it_waits_for_room_behind_what_nobody_has_read_yet(
    server: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = socket.socketpair()
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    read: list[bytes] = []

    def engine() -> None:
        with server.wrap_socket(theirs, server_side=True) as peer:
            while data := peer.recv(65536):
                read.append(data)

    reader = threading.Thread(target=engine, daemon=True)
    reader.start()
    with client.wrap_socket(ours) as raw:
        raw.sendall(b"x" * 100_000)
        said = raw.unwrap
        full = iter([True, True])

        def unwrap() -> socket.socket:
            if next(full, False):
                raise ssl.SSLWantWriteError  # as where the socket still holds what was written before
            return said()

        monkeypatch.setattr(raw, "unwrap", unwrap)
        inside._said_all(raw)
        reader.join(60)
    assert not reader.is_alive()
    assert b"".join(read) == b"x" * 100_000
