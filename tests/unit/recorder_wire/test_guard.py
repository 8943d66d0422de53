"""The tripwire: in replay nothing but this run's own listeners is reached, and what is refused is told."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from stackproof.recorder.guard import NetworkBlockedError
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope

if TYPE_CHECKING:
    from tests.unit.recorder_wire.conftest import Bench
from tests.unit.recorder_wire.guard_ways import PATIENCE, by_socket

_LISTEN = """
import socket, sys
with socket.create_server(("127.0.0.1", 0)) as listener:
    print(listener.getsockname()[1], flush=True)
    while True:
        connection, _ = listener.accept()
        connection.sendall(b"HTTP/1.1 200 OK\\r\\ncontent-length: 2\\r\\n\\r\\nhi")
        connection.close()
"""


# Orphaned at once, as a service is that somebody started long ago.
_FOREIGN = f"""
import os, sys
if os.fork():
    os._exit(0)
print(os.getpid(), flush=True)
{_LISTEN}
"""


@pytest.fixture
def foreign_port() -> Iterator[int]:
    """A port of a process that has nothing to do with this run, though it shares the terminal's session."""
    started = subprocess.Popen([sys.executable, "-c", _FOREIGN], stdout=subprocess.PIPE, text=True)
    assert started.stdout is not None
    pid = int(started.stdout.readline())
    try:
        yield int(started.stdout.readline())
    finally:
        os.kill(pid, 9)
        started.wait(60)
        started.stdout.close()


@pytest.fixture
def child_port() -> Iterator[int]:
    """A port of a process that this one started, in a session of its own."""
    started = subprocess.Popen(
        [sys.executable, "-c", _LISTEN], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert started.stdout is not None
    try:
        yield int(started.stdout.readline())
    finally:
        started.kill()
        started.wait(60)
        started.stdout.close()


def _by_bytes(host: str, port: int) -> None:
    with socket.socket() as connection:
        connection.settimeout(PATIENCE)
        connection.connect((host.encode(), port))


def _by_datagram(host: str, port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"ping", (host, port))


def _by_http_client(host: str, port: int) -> None:
    connection = http.client.HTTPConnection(host, port, timeout=PATIENCE)
    try:
        connection.request("GET", "/")
    finally:
        connection.close()


def _by_urllib(host: str, port: int) -> None:
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
        f"http://{host}:{port}/", timeout=PATIENCE
    ).close()


def _by_asyncio(host: str, port: int) -> None:
    async def main() -> None:
        _, writer = await asyncio.wait_for(asyncio.open_connection(host, port), PATIENCE)
        writer.close()

    asyncio.run(main())


def _by_httpx2(host: str, port: int) -> None:
    import httpx2

    httpx2.get(f"http://{host}:{port}/", timeout=PATIENCE, trust_env=False)


def _by_uvloop(host: str, port: int) -> None:
    uvloop = pytest.importorskip("uvloop", reason="uvloop is not installed")

    async def main() -> None:
        _, writer = await asyncio.wait_for(asyncio.open_connection(host, port), PATIENCE)
        writer.close()

    uvloop.run(main())


_WAYS = [by_socket, _by_bytes, _by_datagram, _by_http_client, _by_urllib, _by_asyncio, _by_httpx2, _by_uvloop]


# `connect` and `sendto` look a name up in C before anybody is asked; programs ask `getaddrinfo`.
_NAMES_TOO = [way for way in _WAYS if way not in (_by_bytes, _by_datagram)]


each_way = pytest.mark.parametrize("way", _WAYS, ids=lambda way: way.__name__.removeprefix("_").removeprefix("by_"))


def _blocked(bench: Bench, way: Callable[[str, int], None], host: str, port: int) -> list[dict[str, Any]]:
    """Try in replay; the misses that were logged. The call must fail at once."""
    with bench.replay() as brain:
        began = time.monotonic()
        with pytest.raises(Exception) as caught:  # noqa: PT011 - HTTP libraries put their own class around it
            way(host, port)
        assert time.monotonic() - began < PATIENCE - 1
        chain: BaseException | None = caught.value
        seen = []
        while chain is not None:
            seen.append(chain)
            chain = chain.__cause__ or chain.__context__ or getattr(chain, "reason", None)
        assert any("was blocked in replay" in str(error) for error in seen)
        return brain.ledger.read("misses")[0]


@each_way
def test_a_public_address_is_refused_naming_host_and_test(bench: Bench, way: Any) -> None:
    (miss,) = _blocked(bench, way, "203.0.113.7", 443)
    assert miss["kind"] == "network"
    assert "203.0.113.7:443" in miss["message"]
    assert "tests/integration/probe/test_it.py::test_it" in miss["message"]
    assert miss["test_id"] == "tests/integration/probe/test_it.py::test_it"


@pytest.mark.parametrize("way", _NAMES_TOO, ids=lambda way: way.__name__.removeprefix("_").removeprefix("by_"))
def test_a_name_is_not_even_looked_up(bench: Bench, way: Any) -> None:
    misses = _blocked(bench, way, "provider.example", 443)
    assert misses
    assert all("provider.example" in miss["message"] for miss in misses)


@pytest.mark.parametrize(
    "look_up",
    [
        lambda: socket.gethostbyname("provider.example"),
        lambda: socket.gethostbyname_ex("provider.example"),
        lambda: socket.getaddrinfo(b"provider.example", 443),
        lambda: socket.getnameinfo(("203.0.113.7", 443), 0),
        lambda: socket.gethostbyaddr("203.0.113.7"),
    ],
    ids=["gethostbyname", "gethostbyname_ex", "bytes", "getnameinfo", "gethostbyaddr"],
)
def test_every_question_to_a_name_server_is_refused(bench: Bench, look_up: Callable[[], Any]) -> None:
    with bench.replay(), pytest.raises(NetworkBlockedError):
        look_up()


@pytest.mark.parametrize("way", [way for way in _WAYS if way is not _by_datagram], ids=lambda way: way.__name__)
def test_somebody_elses_loopback_listener_is_refused(bench: Bench, foreign_port: int, way: Any) -> None:
    (miss,) = _blocked(bench, way, "127.0.0.1", foreign_port)
    assert f"127.0.0.1:{foreign_port}" in miss["message"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_listener_of_another_user_is_refused_although_it_cannot_be_looked_into() -> None:
    program = """
import encodings.ascii, encodings.idna, os, socket, sys  # afterwards the library can no longer be read
from stackproof.recorder import install, listeners, guard, miss, store
from stackproof.recorder.mode import Mode
from stackproof.recorder.settings import Settings
port = int(sys.argv[1])
os.setuid(65534)
settings = Settings(mode=Mode.REPLAY, recordings=sys.argv[2], setup="s", run_dir=sys.argv[2], run_id="abcdef")
with install.installed(settings, {}):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=60)
    except guard.NetworkBlockedError:
        print("blocked")
"""
    folder = Path(tempfile.mkdtemp())  # the test's own one lies below folders of its user
    folder.chmod(0o777)
    # Another user's, and in a session of its own, as a system service is.
    server = subprocess.Popen(
        [sys.executable, "-c", _LISTEN], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert server.stdout is not None
    try:
        port = server.stdout.readline().strip()
        ended = subprocess.run(
            [sys.executable, "-c", program, port, str(folder)],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    finally:
        server.kill()
        server.wait(60)
        server.stdout.close()
        shutil.rmtree(folder)
    assert (ended.stdout.strip(), ended.stderr) == ("blocked", "")


@each_way
def test_our_own_listeners_are_reached(bench: Bench, child_port: int, way: Any) -> None:
    with bench.replay() as brain:
        if way is not _by_datagram:
            way("127.0.0.1", child_port)
        way("127.0.0.1", bench.provider.port) if way in (by_socket, _by_asyncio) else None
        assert brain.ledger.read("misses")[0] == []


def test_a_listener_of_the_run_is_ours_for_the_stack_that_the_run_started(bench: Bench, tmp_path: Path) -> None:
    """The tests' process serves something (a tool, say) that the stack, another child of the run, calls."""
    program = """
import socket, sys
from stackproof.recorder import install
from stackproof.recorder.settings import Settings
with install.installed(Settings.from_json(sys.argv[2]), {}):
    socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60).close()
print("reached")
"""
    settings = bench.settings(Mode.REPLAY)
    Path(settings.run_dir).mkdir(parents=True)
    order = Path(settings.run_dir) / "cell.json"
    command = [sys.executable, "-c", program, str(bench.provider.port), settings.to_json()]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, start_new_session=True)
    assert "NetworkBlockedError" in refused.stderr
    order.write_text(f'{{"orchestrator": {os.getpid()}}}')
    reached = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, start_new_session=True)
    assert (reached.stdout.strip(), reached.stderr) == ("reached", "")


def test_a_port_where_nobody_listens_gives_the_systems_own_answer(bench: Bench, unused_port: int) -> None:
    with bench.replay() as brain:
        with pytest.raises(ConnectionRefusedError):
            by_socket("127.0.0.1", unused_port)
        assert brain.ledger.read("misses")[0] == []


def test_a_port_that_only_was_tried_is_not_ours(bench: Bench, foreign_port: int) -> None:
    with bench.replay():
        with socket.socket() as attempt, pytest.raises(OSError, match="in use"):
            attempt.bind(("127.0.0.1", foreign_port))
        with pytest.raises(NetworkBlockedError):
            by_socket("127.0.0.1", foreign_port)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1", "127.0.0.2"])
def test_every_name_of_this_machine_reaches_our_listener(bench: Bench, host: str) -> None:
    listener = socket.create_server(("0.0.0.0", 0))
    with listener, bench.replay() as brain:
        by_socket(host, listener.getsockname()[1])
        assert brain.ledger.read("misses")[0] == []


def test_ipv6_loopback_is_loopback_however_it_is_written(bench: Bench) -> None:
    try:
        listener = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError as error:
        pytest.skip(f"no IPv6 here: {error}")
    with listener, bench.replay():
        for host in ("::1", "0:0:0:0:0:0:0:1", "::0001"):
            with socket.socket(socket.AF_INET6) as connection:
                connection.connect((host, listener.getsockname()[1]))


def test_a_server_may_ask_for_its_own_name(bench: Bench) -> None:
    with bench.replay() as brain:
        socket.getfqdn()
        assert brain.ledger.read("misses")[0] == []


def test_unix_sockets_are_allowed(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = "s"  # from here: a whole path may be longer than such addresses are
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as client, bench.replay():
        listener.bind(path)
        listener.listen()
        client.connect(path)
        one, other = socket.socketpair()
        one.close()
        other.close()


def test_what_the_run_has_started_beside_the_stack_is_its_own(bench: Bench) -> None:
    with bench.run(Mode.REPLAY, beside=("database", "192.0.2.7")) as brain, socket.socket() as client:
        client.settimeout(0.1)
        # What comes of it is the machine's: nobody is there, or its network has something at any name and address.
        with contextlib.suppress(OSError):
            client.connect(("192.0.2.7", 5432))
        with contextlib.suppress(socket.gaierror):
            socket.getaddrinfo("database", 5432)
        assert brain.ledger.read("misses")[0] == []
        with pytest.raises(NetworkBlockedError):
            socket.getaddrinfo("database.example", 5432)


def test_a_refusal_belongs_to_the_attempt_that_made_it(bench: Bench) -> None:
    again = Scope(name="tests/a.py::test_a", test_id="tests/a.py::test_a", attempt=2)
    with bench.run(Mode.REPLAY, owner=again) as brain:
        with pytest.raises(NetworkBlockedError):
            by_socket("203.0.113.7", 443)
        (miss,) = brain.ledger.read("misses")[0]
    assert (miss["test_id"], miss["attempt"]) == ("tests/a.py::test_a", 2)


def test_after_uninstall_nothing_is_refused(bench: Bench, foreign_port: int) -> None:
    with bench.replay(), pytest.raises(NetworkBlockedError):
        by_socket("127.0.0.1", foreign_port)
    by_socket("127.0.0.1", foreign_port)


def test_a_thread_that_outlives_the_recorder_is_not_refused(bench: Bench, foreign_port: int) -> None:
    go = threading.Event()
    failed: list[BaseException] = []

    def later() -> None:
        go.wait(60)
        try:
            by_socket("127.0.0.1", foreign_port)
        except OSError as error:
            failed.append(error)

    with bench.replay():
        thread = threading.Thread(target=later)
        thread.start()
    go.set()
    thread.join(60)
    assert failed == []
