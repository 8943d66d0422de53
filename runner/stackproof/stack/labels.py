"""The labels on everything that a run makes on a Docker engine, and who is alive to own it.

`dev.stackproof.{run-id,stack,service,host,pid,pid-start,created,expires}`, as text.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stackproof.stack import proctable

PREFIX = "dev.stackproof."
RUN = PREFIX + "run-id"
STACK = PREFIX + "stack"
SERVICE = PREFIX + "service"
DIGEST = PREFIX + "digest"
_LIFETIME = 24 * 3600.0  # seconds after which what nobody has removed is nobody's


@dataclass(frozen=True, kw_only=True, slots=True)
class Owner:
    """The process that a run belongs to: its machine since its start, its id, and when it started (clock ticks)."""

    host: str
    pid: int
    started: int


def owner(pid: int) -> Owner:
    """The owner of what is made now for the process `pid`."""
    entry = proctable.entry(pid)
    return Owner(host=this_host(), pid=pid, started=0 if entry is None else entry.started)


def this_host() -> str:
    """This machine since it was started: process ids mean nothing on another, or after a restart."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return socket.gethostname()


def of(run_id: str, stack: str, who: Owner, *, now: float | None = None) -> dict[str, str]:
    """All labels of something that belongs to a run. now: seconds since the epoch."""
    made = time.time() if now is None else now
    return {
        RUN: run_id,
        STACK: stack,
        PREFIX + "host": who.host,
        PREFIX + "pid": str(who.pid),
        PREFIX + "pid-start": str(who.started),
        PREFIX + "created": f"{made:.0f}",
        PREFIX + "expires": f"{made + _LIFETIME:.0f}",
    }


def is_abandoned(labels: Mapping[str, str], *, now: float) -> bool:
    """Whether the owner is gone for certain: its process on this machine has ended, or its time is over."""
    try:
        expired = now > float(labels.get(PREFIX + "expires", "inf"))
        pid, started = int(labels[PREFIX + "pid"]), int(labels[PREFIX + "pid-start"])
    except (KeyError, ValueError):
        return False
    if expired:
        return True
    if labels.get(PREFIX + "host") != this_host():
        return False
    return not proctable.alive(pid, started)
