"""Connections are handed on both ways, to a port and to a Unix socket, until the forwarder ends."""

from __future__ import annotations

import contextlib
import gc
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stackproof.errors import StackStartError
from stackproof.stack import ports
from stackproof.stack.forwarder import forwarding


@contextmanager
def shouting() -> Iterator[str]:
    """A server that gives back in capitals what it got until the other side had said all."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.sendall(heard(connection).upper())

        thread = threading.Thread(target=serve)
        thread.start()
        host, port = server.getsockname()
        try:
            yield f"{host}:{port}"
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join(timeout=60)


def heard(connection: socket.socket) -> bytes:
    """All that comes until the other side has said that it was all."""
    return b"".join(iter(lambda: connection.recv(4096), b""))


def said(connection: socket.socket, text: bytes) -> bytes:
    """Say something, say that this was all, and hear the answer."""
    with connection:
        connection.settimeout(60)
        connection.sendall(text)
        connection.shutdown(socket.SHUT_WR)
        return heard(connection)


def test_both_directions_and_their_ends_are_handed_on() -> None:
    port = ports.free_port()
    with shouting() as target, forwarding(f"127.0.0.1:{port}", target):
        for text in (b"hello", b"x" * 300_000):
            assert said(socket.create_connection(("127.0.0.1", port)), text) == text.upper()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=60)


def test_an_answer_that_takes_its_time_comes_after_everything_was_said() -> None:
    """Whoever has said all waits; nothing but the forwarder holds that connection then."""
    port = ports.free_port()
    with socket.create_server(("127.0.0.1", 0)) as server:
        host, target = server.getsockname()
        with forwarding(f"127.0.0.1:{port}", f"{host}:{target}"):
            near = socket.create_connection(("127.0.0.1", port))
            near.settimeout(60)
            near.sendall(b"hello")
            near.shutdown(socket.SHUT_WR)
            far, _ = server.accept()
            with far:
                assert heard(far) == b"hello"
                time.sleep(0.1)  # the forwarder's loop has nothing to do any more
                gc.collect()
                time.sleep(0.1)
                far.sendall(b"HELLO")
            with near:
                assert heard(near) == b"HELLO"


def test_a_unix_socket_leads_to_a_port(tmp_path: Path) -> None:
    with shouting() as target, forwarding(str(tmp_path / "way"), target):
        near = socket.socket(socket.AF_UNIX)
        near.connect(str(tmp_path / "way"))
        assert said(near, b"hello") == b"HELLO"


def test_nobody_behind_it_is_like_nobody_at_all() -> None:
    port, nobody = ports.free_port(), ports.free_port()
    with forwarding(f"127.0.0.1:{port}", f"127.0.0.1:{nobody}"), contextlib.suppress(OSError):
        assert said(socket.create_connection(("127.0.0.1", port)), b"hello") == b""


def test_a_place_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        refused = pytest.raises(StackStartError, match=f"connections to {place} cannot be handed on to 127.0.0.1:1")
        with refused, forwarding(place, "127.0.0.1:1"):
            pytest.fail("it cannot be there")


def test_a_connection_that_is_open_does_not_keep_it_from_ending() -> None:
    port = ports.free_port()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        with forwarding(f"127.0.0.1:{port}", f"127.0.0.1:{server.getsockname()[1]}"):
            near = socket.create_connection(("127.0.0.1", port))
            near.settimeout(60)
            far, _ = server.accept()
            far.sendall(b"hello")
            assert near.recv(10) == b"hello"
        with near, far, contextlib.suppress(ConnectionError):
            assert near.recv(10) == b""
