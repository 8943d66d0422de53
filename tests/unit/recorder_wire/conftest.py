"""A provider on the loopback interface that does exactly what a test says, and the recorder around a block."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.unit.recorder_wire.callers import CALLERS, Caller, MakeCaller, made

from stackproof.recorder import install, scope
from stackproof.recorder.brain import Brain
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope
from stackproof.recorder.settings import Provider, Settings

_LONGEST = 60.0
_CONNECTIONS = Path("/proc/self/net/tcp")
TEST = Scope(name="tests/integration/probe/test_it.py::test_it", test_id="tests/integration/probe/test_it.py::test_it")


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """One request as it came in; header names are lower-case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, read as JSON."""
        return json.loads(self.body)


class Wire:
    """The answering side of one connection, byte by byte in the hands of the test."""

    def __init__(self, connection: socket.socket, asked: Asked) -> None:
        self._connection = connection
        self._chunked = False
        self.asked = asked

    def head(self, status: int = 200, content_type: str = "application/json", **headers: str) -> None:
        """Status line and headers; a body of unknown length follows (`chunk`, then `end`)."""
        self._chunked = True
        rows = {"content-type": content_type, "transfer-encoding": "chunked"}
        rows |= {name.replace("_", "-"): value for name, value in headers.items()}
        lines = "".join(f"{name}: {value}\r\n" for name, value in rows.items())
        self._connection.sendall(f"HTTP/1.1 {status} Said\r\n{lines}\r\n".encode())

    def chunk(self, data: bytes) -> None:
        """One chunk, sent at once: over loopback the client's library hands it on as one piece."""
        self._connection.sendall(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def taken(self) -> None:
        """Wait until the other side has taken off the wire what was said.

        What comes next is a piece of its own then, and no reset takes away what came before.
        """
        ends = (self._connection.getsockname(), self._connection.getpeername())
        here, there = (f":{port:04X}" for _, port in ends)
        deadline = time.monotonic() + _LONGEST
        while time.monotonic() < deadline and _on_the_way(here, there):
            time.sleep(0.001)
        time.sleep(0.02)  # its library handles what it took

    def end(self) -> None:
        """The end of the body."""
        self._connection.sendall(b"0\r\n\r\n")

    def reset(self) -> None:
        """Break the connection off, as a crashed server does."""
        self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._connection.close()

    def bare(self, status: int) -> None:
        """Status line and headers of an answer that has no body."""
        self._connection.sendall(f"HTTP/1.1 {status} Said\r\ncontent-length: 5\r\n\r\n".encode())

    def raw(self, data: bytes) -> None:
        """Bytes as they are."""
        self._connection.sendall(data)

    def leave(self) -> None:
        """Close the connection in the middle of whatever is said."""
        self._connection.shutdown(socket.SHUT_RDWR)

    def json(self, value: Any, status: int = 200, **headers: str) -> None:
        """A whole JSON answer."""
        self.whole(json.dumps(value).encode(), status, "application/json", **headers)

    def whole(self, body: bytes, status: int, content_type: str, **headers: str) -> None:
        """A whole answer."""
        self.head(status, content_type, **headers)
        if body:
            self.chunk(body)
        self.end()

    def events(self, *values: Any, done: bool = True) -> None:
        """Server-sent events, a chunk each."""
        self.head(content_type="text/event-stream")
        for value in values:
            self.chunk(b"data: " + json.dumps(value).encode() + b"\n\n")
        if done:
            self.chunk(b"data: [DONE]\n\n")
        self.end()


def _on_the_way(here: str, there: str) -> bool:
    """Whether bytes lie with the kernel, between two ends of a connection of this machine.

    Each row of the kernel's table is an end: local and remote address, state, and the bytes in its two queues, all in
    hexadecimal digits. Without that table nothing is known.
    """
    try:
        rows = [row.split() for row in _CONNECTIONS.read_text(encoding="ascii").splitlines()[1:]]
    except OSError:
        return False
    queues = {(row[1][-5:], row[2][-5:]): row[4].partition(":") for row in rows}
    sent, _, _ = queues.get((here, there), ("0", ":", "0"))
    _, _, unread = queues.get((there, here), ("0", ":", "0"))
    return int(sent, 16) + int(unread, 16) > 0


Script = Callable[[Wire], None]


@dataclass
class LoopbackProvider:
    """`script` answers each request on a thread of its own; `asked` is what came in so far."""

    port: int
    script: Script = lambda wire: wire.json({"ok": True})
    asked: list[Asked] = field(default_factory=list)
    left: threading.Event = field(default_factory=threading.Event)
    stop: Callable[[], None] = lambda: None  # listen no longer
    host: str = "127.0.0.1"

    @property
    def url(self) -> str:
        """Base URL below which everything is the provider's."""
        return f"http://{self.host}:{self.port}/v1"


def _read(connection: socket.socket) -> Asked | None:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return None
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    first, *rows = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (row.partition(":") for row in rows)}
    while len(body) < int(headers.get("content-length", "0")):
        body += connection.recv(65536)
    if headers.get("transfer-encoding") == "chunked":
        while not body.endswith(b"0\r\n\r\n"):
            body += connection.recv(65536)
        body = b"".join(body.split(b"\r\n")[1:-3:2])
    method, path, _ = first.split(" ")
    return Asked(method=method, path=path, headers=headers, body=body)


@pytest.fixture
def provider() -> Iterator[LoopbackProvider]:
    """A provider that listens until the test is over. Its port is nobody else's either once it has stopped."""
    holds = socket.socket()
    holds.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    holds.bind(("127.0.0.1", 0))
    listener = socket.create_server(holds.getsockname(), reuse_port=True)
    listening = LoopbackProvider(port=listener.getsockname()[1])
    open_connections: set[socket.socket] = set()
    threads: list[threading.Thread] = []

    def serve(connection: socket.socket) -> None:
        connection.settimeout(_LONGEST)
        with connection, contextlib.suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while (asked := _read(connection)) is not None:
                listening.asked.append(asked)
                try:
                    listening.script(Wire(connection, asked))
                except OSError:
                    listening.left.set()
                    raise
            listening.left.set()
        open_connections.discard(connection)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                open_connections.add(connection)
                thread = threading.Thread(target=serve, args=(connection,), daemon=True)
                threads.append(thread)
                thread.start()

    def stop() -> None:
        with contextlib.suppress(OSError):  # stopped before
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()

    acceptor = threading.Thread(target=accept, daemon=True)
    acceptor.start()
    listening.stop = stop
    yield listening
    stop()
    for connection in list(open_connections):
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
    for thread in [acceptor, *threads]:
        thread.join(_LONGEST)
        assert not thread.is_alive()
    holds.close()


@dataclass(frozen=True, kw_only=True, slots=True)
class Bench:
    """Records and replays against one provider, each time in a run folder of its own."""

    provider: LoopbackProvider
    folder: Path
    _runs: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def settings(self, mode: Mode, **more: Any) -> Settings:
        """Settings of a new run."""
        return Settings(
            mode=mode,
            recordings=str(self.folder / "recordings"),
            setup="probe",
            run_dir=str(self.folder / f"run-{next(self._runs)}"),
            run_id="abcdef",
            providers=(Provider(name="probe", variable="PROBE_URL", prefixes=(self.provider.url,)),),
            command="stackproof run",
            **more,
        )

    @contextlib.contextmanager
    def run(self, mode: Mode, owner: Scope | None = TEST, **more: Any) -> Iterator[Brain]:
        """The recorder in force for the block, with `owner` making the calls; what was recorded is kept after it."""
        with install.installed(self.settings(mode, **more), {}) as brain, scope.use(owner):
            yield brain
            if mode.records and owner is not None:
                brain.settle(2.0)
                assert brain.ledger.wait_for_calls(owner, _LONGEST) == 0, "a call never settled"
                brain.store.promote(owner, replace=mode is Mode.RECORD)

    @contextlib.contextmanager
    def record(self, **more: Any) -> Iterator[Brain]:
        """Record."""
        with self.run(Mode.RECORD, **more) as brain:
            yield brain

    @contextlib.contextmanager
    def replay(self, **more: Any) -> Iterator[Brain]:
        """Replay; the provider must not be asked."""
        before = len(self.provider.asked)
        with self.run(Mode.REPLAY, **more) as brain:
            yield brain
        assert len(self.provider.asked) == before, "the provider was asked in replay"

    def record_if_missing(self, **more: Any) -> contextlib.AbstractContextManager[Brain]:
        """Replay what there is, record the rest."""
        return self.run(Mode.RECORD_IF_MISSING, **more)

    def replay_passing(self, **more: Any) -> contextlib.AbstractContextManager[Brain]:
        """Replay, where what is asked is not the provider."""
        return self.run(Mode.REPLAY, **more)

    def files(self) -> list[Path]:
        """Kept recordings."""
        return sorted((self.folder / "recordings").rglob("*.json"))

    def recordings(self) -> list[dict[str, Any]]:
        """Kept recordings, read."""
        return [json.loads(path.read_text()) for path in self.files()]


@pytest.fixture
def bench(provider: LoopbackProvider, tmp_path: Path) -> Iterator[Bench]:
    """The recorder for this test's provider. Whatever happens, nothing stays patched."""
    yield Bench(provider=provider, folder=tmp_path)
    while install.active() is not None:
        install.uninstall(install.active())  # type: ignore[arg-type]


@pytest.fixture(params=["httpx", "httpx2"])
def library(request: pytest.FixtureRequest) -> Any:
    """httpx and httpx2, for what only their API can do."""
    return importlib.import_module(request.param)


@pytest.fixture(params=list(CALLERS))
def caller(request: pytest.FixtureRequest) -> Caller:
    """Each client that the recorder sees; those that send and those that wait."""
    return made(request.param)


@pytest.fixture
def make_caller() -> MakeCaller:
    """A client by the name that tests have for it."""
    return made


@pytest.fixture
def unused_port() -> Iterator[int]:
    """A port on which nobody listens: somebody has it who does not."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        yield int(silent.getsockname()[1])
