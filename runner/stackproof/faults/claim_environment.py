"""What a claim may need of a machine, and what of it this machine lacks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

WORDS = "linux, macos, root, tmpfs, a path that begins with /, or program NAME"
_PROGRAM = "program "
_DEADLINE = 10.0


def known(word: str) -> bool:
    """Whether a claims file may say this."""
    return word in ("linux", "macos", "root", "tmpfs") or word.startswith("/") or bool(_program(word))


def lacking(words: Iterable[str]) -> tuple[str, ...]:
    """Those of `words` that do not hold here. Asks the machine once for each."""
    return tuple(word for word in words if not _holds(word))


@cache
def _holds(word: str) -> bool:
    match word:
        case "linux":
            return sys.platform == "linux"
        case "macos":
            return sys.platform == "darwin"
        case "root":
            return os.geteuid() == 0
        case "tmpfs":
            return _mounts_tmpfs()
        case _ if word.startswith("/"):
            return Path(word).exists()
        case _:
            return shutil.which(_program(word)) is not None


def _program(word: str) -> str:
    return word.removeprefix(_PROGRAM).strip() if word.startswith(_PROGRAM) else ""


def _mounts_tmpfs() -> bool:
    """Whether this user may mount a tmpfs in a mount namespace of its own, which goes with the process."""
    if shutil.which("unshare") is None or shutil.which("mount") is None:
        return False
    inner = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", "/tmp"]  # noqa: S108 - seen by that process alone
    own = [] if os.geteuid() == 0 else ["--map-root-user"]
    try:
        done = subprocess.run(
            ["unshare", *own, "--mount", *inner], check=False, capture_output=True, timeout=_DEADLINE,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
