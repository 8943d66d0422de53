"""Ends everything that a started command left: its group, its descendants, and those that ran away from both."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress

from stackproof.stack import proctable

GRACE = 5.0
"""Seconds between SIGTERM and SIGKILL."""

_KILLED_WITHIN = 30.0  # seconds: a busy machine takes its time to end what has much memory
_STEP = 0.02


def end(leader: subprocess.Popen[bytes], *, marker: str | None = None, grace: float = GRACE) -> None:
    """SIGTERM to the group that `leader` leads, `grace` seconds, SIGKILL, reap. Safe to call again.

    `marker` ("NAME=value") finds descendants that left the group: it stood in the environment they started with.
    """
    own = frozenset({os.getpid()})
    strays = _strays(leader.pid, marker) - own
    _signal_group(leader.pid, signal.SIGTERM)
    _signal_each(strays, signal.SIGTERM)
    if not _gone(leader, strays, within=grace):
        # New ones may have appeared while the old ones were shutting down.
        strays |= _strays(leader.pid, marker) - own
        _signal_group(leader.pid, signal.SIGKILL)
        _signal_each(strays, signal.SIGKILL)
        _gone(leader, strays, within=_KILLED_WITHIN)
    late = (proctable.marked(marker) - own) if marker else frozenset()
    _signal_each(late, signal.SIGKILL)
    _await(late, within=_KILLED_WITHIN)
    with suppress(subprocess.TimeoutExpired):
        leader.wait(timeout=1)


def end_marked(*assignments: str, grace: float = 1.0) -> frozenset[int]:
    """End every process of this user that started with all of `assignments` in its environment; whom that was."""
    return _end_all(lambda: proctable.marked(*assignments) - {os.getpid()}, grace)


def end_descendants(grace: float = 1.0) -> frozenset[int]:
    """End every process below this one, orphans that `adopt_orphans` brought here too; whom that was."""
    return _end_all(lambda: proctable.descendants(os.getpid()), grace)


def _end_all(find: Callable[[], frozenset[int]], grace: float) -> frozenset[int]:
    found = find()
    _signal_each(found, signal.SIGTERM)
    _await(found, within=grace)
    late = find()
    _signal_each(late, signal.SIGKILL)
    # Whoever is told that they have ended finds none of them.
    _await(found | late, within=_KILLED_WITHIN)
    return found


def _await(pids: frozenset[int], *, within: float) -> None:
    deadline = time.monotonic() + within
    while time.monotonic() < deadline and any(_running(pid) for pid in pids):
        time.sleep(_STEP)


def adopt_orphans() -> None:
    """Let descendants whose parent died become our children, so that none of them gets out of sight (Linux)."""
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 - costs a few milliseconds that only the owner of a cell needs to spend

        pr_set_child_subreaper = 36
        ctypes.CDLL(None).prctl(pr_set_child_subreaper, 1, 0, 0, 0)


def _strays(leader: int, marker: str | None) -> frozenset[int]:
    # Both ways are needed: a daemon has another parent, `env -i` has no marker.
    return proctable.family(leader) | (proctable.marked(marker) if marker else frozenset())


def _signal_group(leader: int, signum: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signum)


def _signal_each(pids: frozenset[int], signum: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signum)


def _gone(leader: subprocess.Popen[bytes], strays: frozenset[int], *, within: float) -> bool:
    deadline = time.monotonic() + within
    while True:
        if leader.poll() is not None and not _group_alive(leader.pid) and not any(_running(pid) for pid in strays):
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(_STEP)


def _group_alive(leader: int) -> bool:
    try:
        os.killpg(leader, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return proctable.available() and _any_running(leader)
    # The kernel counts members that only wait to be reaped, so look at each.
    return not proctable.available() or _any_running(leader)


def _any_running(leader: int) -> bool:
    return any(item.group == leader and item.running for item in proctable.entries())


def _running(pid: int) -> bool:
    found = proctable.entry(pid)
    return found is not None and found.running
