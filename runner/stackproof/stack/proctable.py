"""What /proc says about processes and listening sockets; where there is no /proc, None or nothing."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
_LISTEN = "0A"


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One process: `state` is the letter of proc(5), `started` its start time in clock ticks since boot."""

    pid: int
    state: str
    parent: int
    group: int
    started: int

    @property
    def running(self) -> bool:
        """Whether it is more than an entry that waits to be reaped."""
        return self.state not in "ZX"


def available() -> bool:
    """Whether this machine has a Linux /proc that shows more than ourselves."""
    return (PROC / "self" / "stat").exists()


def entry(pid: int) -> Entry | None:
    """The process `pid`, or None when it is gone."""
    try:
        raw = _read(f"{PROC}/{pid}/stat")
    except OSError:
        return None
    # The command stands in parentheses and may contain anything, so fields are counted from the last one.
    fields = raw[raw.rfind(b")") + 2 :].split(maxsplit=20)
    return Entry(
        pid=pid, state=fields[0].decode(), parent=int(fields[1]), group=int(fields[2]), started=int(fields[19])
    )


def _read(path: str) -> bytes:
    """A file of /proc, without the layers that make three times as much of it: thousands are read while one waits."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        pieces = []
        while piece := os.read(descriptor, 65536):
            pieces.append(piece)
        return b"".join(pieces)
    finally:
        os.close(descriptor)


def entries() -> Iterator[Entry]:
    """Every process that can be seen."""
    for pid in _pids():
        if (found := entry(pid)) is not None:
            yield found


def _pids() -> list[int]:
    try:
        return [int(folder.name) for folder in PROC.iterdir() if folder.name.isdigit()]
    except OSError:
        return []


def family(leader: int) -> frozenset[int]:
    """Running members of the process group that `leader` leads, and all their running descendants."""
    everybody = list(entries())
    members = {item.pid for item in everybody if leader in (item.group, item.pid)}
    grown = True
    while grown:
        children = {item.pid for item in everybody if item.parent in members} - members
        members |= children
        grown = bool(children)
    return frozenset(item.pid for item in everybody if item.pid in members and item.running)


def descendants(ancestor: int) -> frozenset[int]:
    """Running processes below `ancestor`, without itself."""
    everybody = list(entries())
    members = {ancestor}
    grown = True
    while grown:
        children = {item.pid for item in everybody if item.parent in members} - members
        members |= children
        grown = bool(children)
    return frozenset(item.pid for item in everybody if item.pid in members and item.running) - {ancestor}


def marked(*assignments: str) -> frozenset[int]:
    """Running processes of this user whose environment at their start holds all of `assignments` ("NAME=value")."""
    wanted = {assignment.encode() for assignment in assignments}
    found = set()
    for pid in _pids():
        try:
            block = _read(f"{PROC}/{pid}/environ")
        except OSError:  # another user's, or gone
            continue
        if wanted <= set(block.split(b"\0")) and (item := entry(pid)) is not None and item.running:
            found.add(pid)
    return frozenset(found)


def command_line(pid: int) -> str | None:
    """The command of `pid` as one line, or None when it cannot be read."""
    return " ".join(arguments(pid)) or None


def arguments(pid: int) -> tuple[str, ...]:
    """The words of the command of `pid`; none when they cannot be read."""
    return _block(pid, "cmdline") or ()


def environment(pid: int) -> dict[str, str] | None:
    """The variables of `pid` at its start, or None when they cannot be read (another user's process)."""
    words = _block(pid, "environ")
    return None if words is None else dict(word.split("=", 1) for word in words if "=" in word)


def program(pid: int) -> str | None:
    """The path of the program that `pid` runs, or None when it cannot be read."""
    try:
        return str((PROC / str(pid) / "exe").readlink())
    except OSError:
        return None


def stack_start(pid: int) -> int | None:
    """Where the stack of `pid` begins: the same after a fork, another one in each program that it becomes.

    None when it cannot be read, which the kernel tells of processes of its caller only.
    """
    try:
        text = (PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    return int(text[text.rfind(")") + 2 :].split()[25]) or None


def _block(pid: int, name: str) -> tuple[str, ...] | None:
    try:
        raw = (PROC / str(pid) / name).read_bytes().rstrip(b"\0")
    except OSError:
        return None
    return tuple(raw.decode(errors="replace").split("\0")) if raw else ()


def listening(port: int, host: str = "127.0.0.1") -> frozenset[int] | None:
    """Inodes of the sockets that accept connections to `host`:`port` here (also by a wildcard address).

    None when the kernel's tables cannot be read. Format: proc_pid_net(5), "sl local_address rem_address st … inode".
    """
    wanted = _addresses(host)
    inodes: set[int] = set()
    readable = False
    for table in ("tcp", "tcp6"):
        try:
            lines = (PROC / "net" / table).read_text().splitlines()[1:]
        except OSError:
            continue
        readable = True
        for line in lines:
            fields = line.split()
            address, _, number = fields[1].partition(":")
            if fields[3] == _LISTEN and int(number, 16) == port and address in wanted:
                inodes.add(int(fields[9]))
    return frozenset(inodes) if readable else None


def holders(inodes: Iterable[int], pids: Iterable[int] | None = None) -> dict[int, frozenset[int]]:
    """Which of `pids` (default: everybody whose descriptors can be read) holds which of the sockets `inodes`."""
    wanted = {f"socket:[{inode}]": inode for inode in inodes}
    found: dict[int, frozenset[int]] = {}
    for pid in [item.pid for item in entries()] if pids is None else pids:
        folder = PROC / str(pid) / "fd"
        held = set()
        try:
            links = list(folder.iterdir())
        except OSError:
            continue
        for link in links:
            try:
                target = str(link.readlink())
            except OSError:
                continue
            if target in wanted:
                held.add(wanted[target])
        if held:
            found[pid] = frozenset(held)
    return found


def _addresses(host: str) -> frozenset[str]:
    """How the kernel's tables write the local addresses that a connection to the IPv4 address `host` may reach."""
    word = int.from_bytes(socket.inet_aton(host), sys.byteorder)
    mapped = f"0000000000000000{int.from_bytes(bytes((0, 0, 255, 255)), sys.byteorder):08X}{word:08X}"
    return frozenset({f"{word:08X}", "0" * 8, "0" * 32, mapped})


def alive(pid: int, started: int) -> bool:
    """Whether the process `pid` that started at `started` (clock ticks since boot) still runs.

    Without /proc only the number can be asked for, which may be another process's by now.
    """
    if available():
        found = entry(pid)
        return found is not None and found.running and found.started == started
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
