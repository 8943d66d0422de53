"""Free ports, and who listens on a port that is taken."""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from stackproof.stack import proctable

LOOPBACK = "127.0.0.1"
_KERNELS = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LOWEST = 10_000  # below are the places of well-known services
_ENOUGH = 1_000  # ports, of which a free one is found soon
_TRIES = 64
_HELD = 60.0  # seconds: what is started binds its port long before


@dataclass(frozen=True, kw_only=True, slots=True)
class Listener:
    """Somebody who listens on a port; `pid` and `command` are None where this user may not see them."""

    port: int
    pid: int | None
    command: str | None

    def __str__(self) -> str:
        """As it stands in a message: "process 812 (python -m http.server 8080)"."""
        if self.pid is None:
            return "a process that this user cannot see"
        return f"process {self.pid} ({self.command})" if self.command else f"process {self.pid}"


def free_port(host: str = LOOPBACK, *, early: bool = False) -> int:
    """A port that is free now, and that nobody else comes by until the caller's process binds it.

    It lies where the kernel takes none for connections or for sockets that ask for any, and no other `free_port` of
    this network namespace has given it out within the last minute. Where that cannot be had, one is free now.

    early: an address that this machine will have, and need not have yet.
    """
    apart = _apart()
    for _ in range(_TRIES if apart else 0):
        port = apart[secrets.randbelow(len(apart))]
        if _claims.take(port) and binds(port, host=host, early=early):
            return port
    return _bound(host, 0, early=early)


def binds(port: int, *, host: str = LOOPBACK, early: bool = False) -> bool:
    """Whether a socket can have `host`:`port` now; early: as in `free_port`."""
    try:
        _bound(host, port, early=early)
    except OSError:
        return False
    return True


def _bound(host: str, port: int, *, early: bool) -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        if early:
            from stackproof.stack import pump  # noqa: PLC0415 - asyncio comes with it

            probe.setsockopt(socket.IPPROTO_IP, pump.IP_FREEBIND, 1)
        probe.bind((host, port))
        return int(probe.getsockname()[1])


def _apart() -> range:
    """The ports that the kernel never gives out by itself; empty where it does not say which these are."""
    try:
        low, high = (int(each) for each in _KERNELS.read_text(encoding="ascii").split())
    except (OSError, ValueError):
        return range(0)
    below, above = range(_LOWEST, low), range(high + 1, 65_536)
    widest = max(below, above, key=len)
    return widest if len(widest) >= _ENOUGH else range(0)


class _Claims:
    """Ports that this process has given out of late, each held by a socket whose name is the port.

    Such names are the kernel's (Linux), one namespace of them for each of ports, and gone with the process: nothing is
    left behind, whatever ends it.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._held: deque[tuple[float, int]] = deque()  # since when, descriptor
        self._lock = threading.Lock()

    def take(self, port: int) -> bool:
        """Whether nobody else has it; it is ours for a minute then."""
        with self._lock:
            while self._held and self._clock() - self._held[0][0] > _HELD:
                os.close(self._held.popleft()[1])
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as name:
                try:
                    name.bind(f"\0stackproof-port-{port}")
                except OSError:
                    return False
                self._held.append((self._clock(), name.detach()))
            return True


_claims = _Claims()


def listeners(port: int, *, host: str = LOOPBACK, except_pids: frozenset[int] = frozenset()) -> tuple[Listener, ...]:
    """Everybody who accepts connections to `host`:`port`, without `except_pids`; empty when nobody does."""
    inodes = proctable.listening(port, host)
    if inodes is None:
        return (Listener(port=port, pid=None, command=None),) if not except_pids and _connects(port, host) else ()
    # A socket that one of ours holds is ours, even if it was inherited from, or passed to, somebody else.
    ours = proctable.holders(inodes, except_pids)
    foreign = inodes - {inode for held in ours.values() for inode in held}
    if not foreign:
        return ()
    pids = sorted(proctable.holders(foreign).keys() - except_pids)
    if not pids:
        return (Listener(port=port, pid=None, command=None),)
    return tuple(Listener(port=port, pid=pid, command=proctable.command_line(pid)) for pid in pids)


def _connects(port: int, host: str) -> bool:
    try:
        with socket.create_connection((host, port), timeout=0.5):
            return True
    except OSError:
        return False
