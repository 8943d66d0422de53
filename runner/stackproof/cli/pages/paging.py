"""Hands a text to the person's pager, as Git does: $PAGER, else less; none where $PAGER is empty or `cat`."""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping

# As Git: less ends by itself where all fits the screen, shows colours, and leaves the text there.
_DEFAULTS = {"LESS": "FRX", "LV": "-c"}
_NOT_FOUND = 127


def program(environ: Mapping[str, str]) -> str | None:
    """What the text goes through, as a line for the shell; None where it goes to the terminal as it is."""
    chosen = environ.get("PAGER")
    if chosen is None:
        chosen = "less" if shutil.which("less", path=environ.get("PATH")) else ""
    return None if chosen.strip() in ("", "cat") else chosen


def show(text: str, pager: str, environ: Mapping[str, str]) -> bool:
    """Let a person read it, until the pager ends. False where the shell knows no such program."""
    with _interrupts_are_the_pagers():
        child = subprocess.Popen(["/bin/sh", "-c", pager], stdin=subprocess.PIPE, env={**_DEFAULTS, **environ})
        # Who leaves before the end leaves the rest unread; nothing is raised then.
        child.communicate(text.encode("utf-8", errors="replace"))
        return child.returncode != _NOT_FOUND


@contextlib.contextmanager
def _interrupts_are_the_pagers() -> Iterator[None]:
    """Ctrl-C at a pager ends a search in it, not the command around it."""
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
