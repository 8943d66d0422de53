"""Runs first in a container, by the container's own Python: takes its variables, then becomes the stack's command.

`enter.py give` writes what it reads from standard input to a folder in memory; `enter.py run -- COMMAND` waits for it.
So no variable is in an argument, a label, a layer or the engine's own description of the container. `give RUN_DIR
RECORDINGS` first sees whether the one can be written and the other read (codes 3 and 4). `enter.py shut`, run by root,
takes the default route away: on a network from which nothing gets out, a connection then fails at once where it would
hang; `unname` also leaves nobody to ask for names. `shut USER:GROUP give …` goes on as that user, so that one call of
the engine does both. `enter.py hold` only waits for its end: what the container is for comes later (`supervise`).
Standard library only, and old Python: it runs in images of other people.
"""

import contextlib
import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path

FOLDER = "/run/stackproof"
NOBODY = "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"
NOT_WRITABLE, NOT_READABLE = 3, 4
HOLDER = Path(FOLDER) / "holder"
GIVEN = "given.json"
_GIVEN = Path(FOLDER) / GIVEN
_SIOCDELRT = 0x890C
_PR_CAPBSET_DROP, _CAP_NET_ADMIN = 24, 12
_DEADLINE = 120.0  # seconds; whoever made this container is gone then


def give(folders: "list[str]") -> int:
    """Write standard input to the folder in memory, whole or not at all, once the folders are as they have to be."""
    if folders and not _writable(folders[0]):
        return NOT_WRITABLE
    if folders and not _readable(folders[1]):
        return NOT_READABLE
    os.umask(0o077)
    partial = _GIVEN.with_suffix(".partial")
    partial.write_bytes(sys.stdin.buffer.read())
    partial.rename(_GIVEN)
    return 0


def _writable(folder: str) -> bool:
    """A try: rights alone do not tell, on a file system of another machine."""
    path = Path(folder, f".written-{os.getpid()}")
    try:
        path.write_bytes(b"x")
        path.unlink()
    except OSError:
        return False
    return True


def _refuse(error: OSError) -> None:
    raise error


def _readable(folder: str) -> bool:
    """Whether the folder, and the first file somewhere below it, can be opened."""
    try:
        for base, _, names in os.walk(folder, onerror=_refuse):
            for name in names[:1]:
                with Path(base, name).open("rb") as file:
                    file.read(1)
                return True
    except OSError:
        return False
    return True


def shut() -> int:
    """Remove every default route, as `ip route del default` does (ioctl SIOCDELRT of route(7)); needs CAP_NET_ADMIN.

    struct rtentry on 64 bits: padding, destination, gateway, mask (sockaddr each), flags, and more that is not used.
    """
    for row in Path("/proc/net/route").read_text().splitlines()[1:]:
        fields = row.split()
        if fields[1] == "00000000" and fields[7] == "00000000":
            address = [struct.pack("=HH4s8x", socket.AF_INET, 0, bytes.fromhex(fields[at])[::-1]) for at in (1, 2, 7)]
            entry = struct.pack("8x16s16s16sH62x", *address, int(fields[3], 16))
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
                fcntl.ioctl(control, _SIOCDELRT, entry)
    return 0


def unname() -> int:
    """Have nobody to ask for names, where no file could be put in the place of the engine's own; then `shut`."""
    Path("/etc/resolv.conf").write_text(NOBODY)
    return shut()


def then(first: "Callable[[], int]", rest: "list[str]") -> int:
    """`first`, and what `rest` says after it, as the user that it names."""
    if not rest:
        return first()
    # Where the engine does not permit it, connections hang in place of failing at once.
    with contextlib.suppress(OSError):
        first()
    user, _, group = rest[0].partition(":")
    with contextlib.suppress(OSError):  # a rootless engine may not
        os.setgroups([])
    os.setgid(int(group))
    os.setuid(int(user))
    return give(rest[2:])


def hold() -> int:
    """Be there until somebody says that it is over; the first process of a container that several cells share."""
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    HOLDER.write_text(str(os.getpid()))
    while True:
        signal.pause()


def _home() -> None:
    """The caller is nobody whom the image knows: what programs keep for a user goes to a folder in memory."""
    if os.environ.get("HOME", "/") == "/" and not os.access("/", os.W_OK):
        home = Path(FOLDER) / "home"
        home.mkdir(mode=0o700, exist_ok=True)
        os.environ["HOME"] = str(home)


def _without_the_right() -> None:
    """What was needed to take the route away would let a program that runs as root put it back."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_CAPBSET_DROP, _CAP_NET_ADMIN, 0, 0, 0)


def _installed(program: str) -> str:
    """As an environment that is activated would find it: what was installed with the Python that runs this, first."""
    here = Path(sys.executable).parent
    beside = here / program
    is_one = os.sep not in program and (here.parent / "pyvenv.cfg").exists() and os.access(str(beside), os.X_OK)
    return str(beside) if is_one else program


def run(command: "list[str]") -> int:
    """Wait for the variables and become the command; returns only when that was impossible."""
    deadline = time.monotonic() + _DEADLINE
    while not _GIVEN.exists():
        if time.monotonic() > deadline:
            sys.stderr.write("stackproof: nobody gave this container its variables\n")
            return 70
        time.sleep(0.01)
    given = json.loads(_GIVEN.read_text(encoding="utf-8"))
    _GIVEN.unlink()
    if "PYTHONPATH" in given:
        # The image may have one of its own; the recorder only comes before it.
        given["PYTHONPATH"] = ":".join(filter(None, (given["PYTHONPATH"], os.environ.get("PYTHONPATH"))))
    os.environ.update(given)
    _home()
    _without_the_right()
    try:
        os.execvp(_installed(command[0]), command)  # noqa: S606 - it becomes the stack
    except OSError as error:
        sys.stderr.write(f"stackproof: {command[0]} cannot be started: {error.strerror}\n")
    return 127


if __name__ == "__main__":
    asked = {
        "give": lambda: give(sys.argv[2:]),
        "shut": lambda: then(shut, sys.argv[2:]),
        "unname": lambda: then(unname, sys.argv[2:]),
        "hold": hold,
    }
    sys.exit(asked.get(sys.argv[1], lambda: run(sys.argv[3:]))())
