"""The project's own command after the tests of a cell, while its stack is still there."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from stackproof.errors import ExitCode
from stackproof.stack.process import Process

_TIMEOUT = 600.0


def run(
    command: str, variables: Mapping[str, str], *, project: Path, log: Path, check: Callable[[], None]
) -> dict[str, Any] | None:
    """Run it; None when it ended well, else the error of the cell. check: called meanwhile, to end it by raising."""
    process = Process(name="post-command", command=["sh", "-c", command], environment=variables, cwd=project, log=log)
    deadline = time.monotonic() + _TIMEOUT
    try:
        process.start()
        while process.poll() is None and time.monotonic() < deadline:
            check()
            time.sleep(0.05)
        if process.poll() == 0:
            return None
        how = process.ending() if process.poll() is not None else f"did not end within {_TIMEOUT:g} s"
        return {
            "kind": "post-command",
            "message": f"the post-command {how}: {command}",
            "hint": "\n".join(process.tail()),
            "exit_code": int(ExitCode.TESTS),
        }
    finally:
        process.stop()
