"""Connections through the one that leads to the engine: each goes its own way to the same place."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from stackproof.errors import DockerError
from stackproof.stack import forwarder, ports, through
from stackproof.stack.conversation import HEADER, STDERR

_OUT = 1


class Engine:
    """An engine whose containers are processes of this machine; it frames what they say as Docker does."""

    endpoint = "tcp://there:2376 (test)"

    def __init__(self, undo: contextlib.ExitStack) -> None:
        self._undo = undo
        self.process: subprocess.Popen[bytes] | None = None

    def wired(self, container: str, command: Sequence[str]) -> tuple[Any, Any]:
        ours, theirs = socket.socketpair()
        self.process = process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
        )
        lock = threading.Lock()

        def give() -> None:
            assert process.stdin is not None
            with contextlib.suppress(OSError), process.stdin:
                while data := theirs.recv(1000):  # less than a piece
                    process.stdin.write(data)

        def take(kind: int, pipe: Any) -> None:
            with contextlib.suppress(OSError), pipe:
                while data := pipe.read(1000):
                    with lock:
                        theirs.sendall(HEADER.pack(kind, len(data)) + data)
            if kind == _OUT:
                with contextlib.suppress(OSError):
                    theirs.shutdown(socket.SHUT_WR)

        threads = [
            threading.Thread(target=give),
            threading.Thread(target=take, args=(_OUT, process.stdout)),
            threading.Thread(target=take, args=(STDERR, process.stderr)),
        ]
        for thread in threads:
            thread.start()
            self._undo.callback(thread.join, timeout=60)
        self._undo.callback(theirs.close)
        self._undo.callback(process.wait, timeout=60)
        self._undo.callback(process.terminate)
        return ours, ours


@pytest.fixture
def engine() -> Iterator[Any]:
    with contextlib.ExitStack() as undo:
        yield Engine(undo)


@pytest.fixture
def echo() -> Iterator[str]:
    """Says back what it got, once it has got all of it."""

    def serve(server: socket.socket) -> None:
        with contextlib.suppress(OSError), ThreadPoolExecutor(8) as pool:
            while True:
                pool.submit(answer, server.accept()[0])

    def answer(one: socket.socket) -> None:
        with one:
            said = b"".join(iter(lambda: one.recv(65536), b""))
            one.sendall(said)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, args=(server,), daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        thread.join(timeout=60)


def asked(place: str, said: bytes) -> bytes:
    """What comes back for it."""
    host, _, port = place.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=120) as one:
        one.sendall(said)
        one.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: one.recv(65536), b""))


def test_each_connection_gets_its_own_answer_whole(engine: Any, echo: str) -> None:
    sent = [bytes([number]) * (number * 100_000 + 1) for number in range(8)]
    with through.leading(engine, "container", sys.executable, echo) as place, ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda said: asked(place, said), sent)) == sent
        assert asked(place, b"") == b""


def test_where_nobody_listens_a_connection_breaks_and_the_next_one_is_tried_anew(engine: Any, echo: str) -> None:
    port = ports.free_port()
    with through.leading(engine, "container", sys.executable, f"127.0.0.1:{port}") as place:
        for _ in range(2):
            with contextlib.suppress(OSError):  # or an end without an answer
                assert asked(place, b"hello") == b""
        with forwarder.forwarding(f"127.0.0.1:{port}", echo):
            assert asked(place, b"hello") == b"hello"


def test_when_the_way_breaks_its_connections_do(engine: Any, echo: str) -> None:
    with through.leading(engine, "container", sys.executable, echo) as place:
        host, _, port = place.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=120) as one:
            one.sendall(b"hello")
            engine.process.kill()
            with contextlib.suppress(ConnectionError):
                assert one.recv(10) == b""
        with pytest.raises(OSError, match=r"refused|reset"):
            asked(place, b"hello")


def test_when_nothing_answers_there_any_more_nobody_is_left_waiting(
    engine: Any, echo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(through, "_ASKS", 0.1)
    monkeypatch.setattr(through, "_SILENT", 4.0)
    with through.leading(engine, "container", sys.executable, echo) as place:
        host, _, port = place.rpartition(":")
        time.sleep(4.5)  # it is asked, and answers
        with socket.create_connection((host, int(port)), timeout=120) as one:
            engine.process.send_signal(signal.SIGSTOP)
            one.sendall(b"hello")
            with contextlib.suppress(ConnectionError):
                assert one.recv(10) == b""
        engine.process.send_signal(signal.SIGCONT)


def test_a_container_without_python_is_one_sentence(engine: Any) -> None:
    with (
        pytest.raises(DockerError, match=r"^no way leads to x:1 through the engine at tcp://there:2376 \(test\): "),
        through.leading(engine, "container", "/bin/false", "x:1"),
    ):
        pass
