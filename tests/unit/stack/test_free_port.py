"""Ports for what is started: nobody else comes by them before it binds its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from stackproof.stack import ports

RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
APART = pytest.mark.skipif(not RANGE.exists(), reason="the kernel's range of ports is read from /proc")
MANY = 400
ASKS = "from stackproof.stack import ports; print(*(ports.free_port() for _ in range(400))); input()"


@APART
def test_the_kernel_gives_it_to_nobody_who_asks_for_any() -> None:
    low, high = (int(each) for each in RANGE.read_text(encoding="ascii").split())
    assert [port for port in (ports.free_port() for _ in range(MANY)) if low <= port <= high] == []


@APART
def test_no_two_processes_are_given_the_same() -> None:
    asking = [
        subprocess.Popen([sys.executable, "-c", ASKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    given: list[str] = []
    try:
        for each in asking:
            assert each.stdout is not None
            given += each.stdout.readline().split()
    finally:
        for each in asking:
            each.communicate("\n", timeout=120)
    # Of 1,200 out of 22,000 about 30 would be equal by chance.
    assert len(given) == len(set(given)) == 3 * MANY


@APART
def test_a_port_is_given_out_again_a_minute_later() -> None:
    clock = [100.0]
    claims = ports._Claims(lambda: clock[0])
    # No ports, and of this process alone: the names are everybody's on this machine.
    one, other = 100_000 + 2 * os.getpid(), 100_001 + 2 * os.getpid()
    port = ports.free_port()
    before = len(list(Path("/proc/self/fd").iterdir()))
    assert not claims.take(port)  # held by who gave it
    assert claims.take(one)
    assert not claims.take(one)
    clock[0] += 61
    assert claims.take(other)
    assert claims.take(one)
    for _, descriptor in claims._held:
        os.close(descriptor)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_where_the_kernel_says_nothing_it_is_one_that_is_free(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ports, "_KERNELS", tmp_path / "nothing")
    with socket.create_server((ports.LOOPBACK, ports.free_port())) as server:
        assert server.getsockname()[1] > 1023


@pytest.mark.parametrize(
    ("text", "apart"),
    [
        ("32768\t60999\n", range(10_000, 32_768)),
        ("10100 11000", range(11_001, 65_536)),
        ("1024 65535", range(0)),
        ("9000 65000", range(0)),
        ("many", range(0)),
    ],
)
def test_what_the_kernel_never_gives_out(
    text: str, apart: range, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "range").write_text(text, encoding="ascii")
    monkeypatch.setattr(ports, "_KERNELS", tmp_path / "range")
    assert ports._apart() == apart


@APART
def test_one_that_somebody_listens_on_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server((ports.LOOPBACK, ports.free_port())) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr(ports, "_apart", lambda: range(port, port + 1))
        monkeypatch.setattr(ports, "_claims", ports._Claims())
        assert ports.free_port() != port


def test_an_address_that_is_not_of_this_machine_is_an_error() -> None:
    with pytest.raises(OSError, match="assign"):
        ports.free_port("192.0.2.7")
