"""An address counts as a container's only where this machine is in its network: a gateway may answer for anything."""

from __future__ import annotations

import socket
import sys

import pytest

from stackproof.stack.sharing import attached

HEAD = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT"


def routes(*given: tuple[str, str, str, str]) -> str:
    """The kernel's table of (interface, network, gateway, mask)."""

    def number(address: str) -> str:
        return f"{int.from_bytes(socket.inet_aton(address), sys.byteorder):08X}"

    rows = (f"{name} {number(net)} {number(way)} 0001 0 0 0 {number(mask)} 0 0 0" for name, net, way, mask in given)
    return "\n".join((HEAD, *rows, ""))


DEFAULT = ("eth0", "0.0.0.0", "192.0.2.1", "0.0.0.0")
BRIDGE = ("br0", "172.24.0.0", "0.0.0.0", "255.255.0.0")
TUNNEL = ("tun0", "172.24.7.0", "10.0.0.1", "255.255.255.0")


@pytest.mark.parametrize(
    ("table", "address", "expected"),
    [
        ((DEFAULT, BRIDGE), "172.24.0.2", True),
        ((DEFAULT, BRIDGE), "10.89.0.2", False),
        ((BRIDGE, DEFAULT), "172.25.0.2", False),
        ((BRIDGE, TUNNEL), "172.24.7.9", False),
        ((BRIDGE,), "10.89.0.2", False),
        ((), "10.89.0.2", False),
    ],
)
def test_only_the_network_of_an_interface_counts(
    table: tuple[tuple[str, str, str, str], ...], address: str, expected: bool
) -> None:
    assert attached(address, routes(*table)) is expected
