"""Starts a command that must not outlive the process which started it.

Run as a file, by `python -I -S tether.py PARENT -- COMMAND…`: it asks the kernel for SIGTERM on the parent's death,
gives SIGINT and SIGTERM back their usual meaning (a shell's background job ignores SIGINT, and children inherit that),
and becomes the command: the process id stays the same. Exit code 127 when the command cannot be started, 143 when the
parent is gone already.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def tie(parent: int, signum: int = signal.SIGTERM) -> bool:
    """Have the kernel send `signum` to this process when `parent` dies; False when it is dead already.

    Only Linux has this; elsewhere nothing happens and the answer is True.
    """
    if sys.platform != "linux":
        return True
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(signum), 0, 0, 0)
    return os.getppid() == parent


def main(arguments: list[str]) -> int:
    """Become the command; returns only when that was impossible."""
    parent, command = int(arguments[0]), arguments[2:]
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, signal.SIG_DFL)
    if not tie(parent):
        return 128 + signal.SIGTERM
    try:
        os.execvp(command[0], command)  # noqa: S606
    except OSError as error:
        sys.stderr.write(f"cannot start {command[0]}: {error.strerror}\n")
    return 127


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
