"""Whose listener a port of this machine is, read from /proc (Linux, proc(5)).

A process belongs to the run when it carries the run's folder in its environment, descends from the process that owns
the run, or is this one. A session is no sign of it: what a person started in the same terminal shares that.
"""

from __future__ import annotations

import json
import os

_LISTENING = "0A"


def is_ours(port: int, run_dir: str) -> bool | None:
    """Whether a process of the run in `run_dir` listens on `port`; None where nobody does, or nobody can tell."""
    inodes = _inodes(port)
    if not inodes:
        return None
    wanted = {f"socket:[{inode}]" for inode in inodes}
    owner = _owner(run_dir)
    mark = f"STACKPROOF_RUN_DIR={run_dir}".encode()
    # Whose listener cannot be seen belongs to another user, so not to this run.
    return any(
        _holds(pid, wanted) and (pid == str(os.getpid()) or _is_marked(pid, mark) or _descends(pid, owner))
        for pid in [str(os.getpid()), *filter(str.isdigit, os.listdir("/proc"))]
    )


def _owner(run_dir: str) -> set[str]:
    """Pids whose descendants are the run's: this one's, and the one that gave the order."""
    owners = {str(os.getpid())}
    try:
        with open(os.path.join(run_dir, "cell.json"), encoding="utf-8") as file:
            owners.add(str(json.load(file)["orchestrator"]))
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return owners


def _is_marked(pid: str, mark: bytes) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return mark in file.read().split(b"\0")
    except OSError:
        return False


def _descends(pid: str, owners: set[str]) -> bool:
    while pid not in ("0", "1"):
        if pid in owners:
            return True
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
                pid = file.read().rpartition(")")[2].split()[1]
        except OSError:
            return False
    return False


def _inodes(port: int) -> set[str]:
    inodes: set[str] = set()
    for table in ("/proc/self/net/tcp", "/proc/self/net/tcp6"):
        try:
            with open(table, encoding="ascii") as file:
                rows = file.read().splitlines()[1:]
        except OSError:
            continue
        for row in rows:
            fields = row.split()
            if fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                inodes.add(fields[9])
    return inodes


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
