"""Free ports, and who listens on a port that is taken."""

from __future__ import annotations

import socket
from dataclasses import dataclass

from stackproof.stack import proctable, pump

LOOPBACK = "127.0.0.1"


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
    """A port that the kernel says is free now. It is not held: the caller's process binds it within moments.

    early: an address that this machine will have, and need not have yet.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        if early:
            probe.setsockopt(socket.IPPROTO_IP, pump.IP_FREEBIND, 1)
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port


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
