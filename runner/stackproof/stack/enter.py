"""Runs first in a container, by the container's own Python: takes its variables, then becomes the stack's command.

`enter.py give` writes what it reads from standard input to a folder in memory; `enter.py run -- COMMAND` waits for it.
So no variable is in an argument, a label, a layer or the engine's own description of the container. Standard library
only, and old Python: it runs in images of other people.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

FOLDER = "/run/stackproof"
_GIVEN = Path(FOLDER) / "given.json"
_DEADLINE = 120.0  # seconds; whoever made this container is gone then


def give() -> int:
    """Write standard input to the folder in memory, whole or not at all."""
    os.umask(0o077)
    partial = _GIVEN.with_suffix(".partial")
    partial.write_bytes(sys.stdin.buffer.read())
    partial.rename(_GIVEN)
    return 0


def run(command: list[str]) -> int:
    """Wait for the variables and become the command; returns only when that was impossible."""
    deadline = time.monotonic() + _DEADLINE
    while not _GIVEN.exists():
        if time.monotonic() > deadline:
            sys.stderr.write("stackproof: nobody gave this container its variables\n")
            return 70
        time.sleep(0.01)
    given = json.loads(_GIVEN.read_text(encoding="utf-8"))
    _GIVEN.unlink()
    os.environ.update(given)
    try:
        os.execvp(command[0], command)  # noqa: S606 - it becomes the stack
    except OSError as error:
        sys.stderr.write(f"stackproof: {command[0]} cannot be started: {error.strerror}\n")
    return 127


if __name__ == "__main__":
    sys.exit(give() if sys.argv[1] == "give" else run(sys.argv[3:]))
