"""Runs a program with a deadline, reads it line by line, and ends it with its group."""

from __future__ import annotations

import codecs
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

# What a runner grants: an interrupt, then a request to end, then the end.
_ESCALATION = ((signal.SIGINT, 7.5), (signal.SIGTERM, 2.5), (signal.SIGKILL, 5.0))
_AFTER_END = 2.0
_PIECE = 65536


def run(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    folder: Path,
    seconds: float,
    line: Callable[[str], None],
) -> int | None:
    """The exit code, negative for a signal; None when the time was up and it was ended.

    Output and errors go, in one stream, to `line`. What the program leaves behind may go on: the next step may need it.
    """
    deadline = time.monotonic() + seconds
    child = subprocess.Popen(
        command,
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        in_time = _read(child, deadline, line)
        if in_time:
            child.wait(max(0.1, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        in_time = False
    except BaseException:
        _end_group(child)
        raise
    finally:
        if child.stdout is not None:
            child.stdout.close()
    if not in_time:
        _end_group(child)
        return None
    return child.returncode


def _read(child: subprocess.Popen[bytes], deadline: float, line: Callable[[str], None]) -> bool:
    """Hand on lines until the program has ended; False when the deadline came first."""
    assert child.stdout is not None  # noqa: S101 - said to the type checker
    decoder, rest, ended = codecs.getincrementaldecoder("utf-8")("replace"), "", 0.0
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        while True:
            now = time.monotonic()
            if now >= deadline:
                break
            if child.poll() is not None:
                ended = ended or now
                # Something in the background may hold the pipe for ever.
                if now - ended > _AFTER_END:
                    break
            if not selector.select(0.1 if ended else min(0.2, deadline - now)):
                continue
            piece = os.read(child.stdout.fileno(), _PIECE)
            if not piece:
                break
            *lines, rest = (rest + decoder.decode(piece)).split("\n")
            for one in lines:
                line(one.rstrip("\r"))
    if rest:
        line(rest)
    return bool(ended) or time.monotonic() < deadline


def _end_group(child: subprocess.Popen[bytes]) -> None:
    for signum, wait in _ESCALATION:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signum)
        with suppress(subprocess.TimeoutExpired):
            child.wait(wait)
            break
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
