"""Who listens on a port."""

from __future__ import annotations

import os
import socket

import pytest

from stackproof.stack import ports, proctable

LINUX = pytest.mark.skipif(not proctable.available(), reason="reads /proc")


def test_a_free_port_can_be_bound_at_once() -> None:
    port = ports.free_port()
    with socket.create_server(("127.0.0.1", port)):
        assert ports.listeners(port)
    assert ports.listeners(port) == ()


@LINUX
def test_a_listener_is_named_with_process_and_command() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        (found,) = ports.listeners(server.getsockname()[1])
    assert found.pid == os.getpid()
    assert str(found).startswith(f"process {os.getpid()} (")


@LINUX
@pytest.mark.parametrize(("family", "address"), [(socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")])
def test_a_wildcard_listener_counts(family: socket.AddressFamily, address: str) -> None:
    try:
        server = socket.create_server((address, 0), family=family, dualstack_ipv6=family == socket.AF_INET6)
    except OSError:
        pytest.skip(f"no {family.name} here")
    with server:
        assert ports.listeners(server.getsockname()[1])


@LINUX
def test_another_address_of_the_same_port_does_not_count() -> None:
    with socket.create_server(("127.0.0.2", 0)) as server:
        assert ports.listeners(server.getsockname()[1]) == ()


@LINUX
def test_our_own_listeners_are_not_foreign() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert ports.listeners(server.getsockname()[1], except_pids=frozenset({os.getpid()})) == ()


def test_without_the_kernels_tables_a_connection_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proctable, "listening", lambda *_: None)
    # One that the kernel gives to nobody else once it is free again.
    port = ports.free_port()
    with socket.create_server(("127.0.0.1", port)):
        assert [str(found) for found in ports.listeners(port)] == ["a process that this user cannot see"]
    assert ports.listeners(port) == ()
