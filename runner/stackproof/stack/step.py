"""A command that has to end well before anything else: an installation, a build."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from stackproof.errors import StackStartError
from stackproof.plaintext import number
from stackproof.stack.process import Process, describe_exit, last_lines, tail


def done(
    process: Process, log: Path, *, timeout: float, check: Callable[[], None], taking: str, failing: str | None = None
) -> None:
    """Start a process and wait for its good end; it is gone afterwards in any case.

    log: where its output goes. check: called while waiting, raises to end it. StackStartError, with the end of the log,
    when it takes more than `timeout` seconds (`taking` says what does) or fails (`failing` says what did, or `taking`).
    """
    deadline = time.monotonic() + timeout
    try:
        process.start()
        while (code := process.poll()) is None:
            check()
            if time.monotonic() > deadline:
                raise StackStartError(f"{taking} took more than {number(timeout)} s", hint=last_lines(log, tail(log)))
            time.sleep(0.05)
    finally:
        process.stop()
    if code != 0:
        raise StackStartError(f"{failing or taking} {describe_exit(code)}", hint=last_lines(log, tail(log)))
