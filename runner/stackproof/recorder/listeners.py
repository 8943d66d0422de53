"""Which processes listen on a port of this machine, read from /proc (Linux, proc(5))."""

from __future__ import annotations

import os

_LISTENING = "0A"


def pids_listening_on(port: int) -> set[int] | None:
    """Process ids that hold a listening TCP socket on `port`; None where the system does not tell."""
    inodes = _inodes(port)
    if inodes is None:
        return None
    if not inodes:
        return set()
    wanted = {f"socket:[{inode}]" for inode in inodes}
    found = set()
    for entry in os.listdir("/proc"):
        if entry.isdigit() and _holds(entry, wanted):
            found.add(int(entry))
    return found


def _inodes(port: int) -> set[str] | None:
    inodes: set[str] = set()
    read_any = False
    for table in ("/proc/self/net/tcp", "/proc/self/net/tcp6"):
        try:
            with open(table, encoding="ascii") as file:
                rows = file.read().splitlines()[1:]
        except OSError:
            continue
        read_any = True
        for row in rows:
            fields = row.split()
            if fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                inodes.add(fields[9])
    return inodes if read_any else None


def _holds(pid: str, wanted: set[str]) -> bool:
    folder = f"/proc/{pid}/fd"
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    for name in names:
        try:
            if os.readlink(f"{folder}/{name}") in wanted:
                return True
        except OSError:
            continue
    return False
