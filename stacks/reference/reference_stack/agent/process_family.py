"""Finding everything that a command started: its group, what descends from it, and what ran away from both.

Who left the group (setsid) and lost its parent (a daemon) is known by a variable that it inherited. That is read from
/proc, of processes of the same user. Where there is no /proc, the group is all that is known.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MARK = "REFERENCE_STACK_PROCESS"
"""The variable; its value is another one for each command."""

_PROC = Path("/proc")
_STEP = 0.01  # seconds


@dataclass(frozen=True, kw_only=True, slots=True)
class _Entry:
    pid: int
    state: str
    parent: int
    group: int
    started: int


class Family:
    """The command `leader`, which leads a process group, what has `mark` in its environment, and their descendants.

    Whoever was found once is known from then on, also when its parent ends and it becomes somebody else's child.
    The leader must not have been reaped: as long as it is there, nobody else can have its number, nor its group's.
    """

    def __init__(self, *, leader: int, mark: str) -> None:
        self.leader = leader
        self._mark = f"{MARK}={mark}".encode()
        self._known: dict[int, int] = {}

    def running(self) -> frozenset[int]:
        """Its processes that have not ended, as far as they can be found."""
        if not (_PROC / "self" / "stat").exists():
            return frozenset({self.leader}) if _group_is_there(self.leader) else frozenset()
        everybody = [item for item in _entries() if item.state not in "ZX" and item.pid != os.getpid()]
        found = {item.pid for item in everybody if self._belongs(item)}
        grown = True
        while grown:
            children = {item.pid for item in everybody if item.parent in found} - found
            found |= children
            grown = bool(children)
        self._known |= {item.pid: item.started for item in everybody if item.pid in found}
        return frozenset(found)

    def terminate(self) -> None:
        """Ask each of them once to end."""
        found = self.running()
        if found == {self.leader}:
            _signal_group(self.leader, signal.SIGTERM)
            return
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGTERM)

    def kill(self) -> None:
        """End those that are there now. What one of them started meanwhile needs another call."""
        found = self.running()
        _signal_group(self.leader, signal.SIGKILL)
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)

    def kill_at_once(self, seconds: float) -> None:
        """End all of them, for up to so long. Blocks."""
        deadline = time.monotonic() + seconds
        while self.running() and time.monotonic() < deadline:
            self.kill()
            time.sleep(_STEP)

    def reap(self) -> None:
        """Where orphans become our children (we are a container's first process): reap those of them that ended."""
        own = {item.pid for item in _entries() if item.state == "Z" and item.parent == os.getpid()}
        for pid in own & self._known.keys() - {self.leader}:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)

    def _belongs(self, item: _Entry) -> bool:
        if self.leader in (item.pid, item.group) or self._known.get(item.pid) == item.started:
            return True
        try:
            block = (_PROC / str(item.pid) / "environ").read_bytes()
        except OSError:  # another user's, or gone
            return False
        return self._mark in block.split(b"\0")


def _signal_group(leader: int, signum: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signum)


def _group_is_there(leader: int) -> bool:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, 0)
        return True
    return False


def _entries() -> Iterator[_Entry]:
    """Every process, also those that wait to be reaped. Format: proc_pid_stat(5)."""
    if not _PROC.is_dir():
        return
    for folder in _PROC.iterdir():
        if not folder.name.isdigit():
            continue
        try:
            text = (folder / "stat").read_text(errors="replace")
        except OSError:
            continue
        # The command stands in parentheses and may hold anything, so what follows the last one is counted.
        fields = text[text.rfind(")") + 2 :].split()
        yield _Entry(
            pid=int(folder.name),
            state=fields[0],
            parent=int(fields[1]),
            group=int(fields[2]),
            started=int(fields[19]),
        )
