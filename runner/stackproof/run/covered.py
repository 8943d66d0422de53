"""What another runner prints, shown as it comes and without secrets: its terminal is a file that is read along."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from stackproof.live import scrub


@contextmanager
def shown(log: Path | None, secrets: Mapping[str, str]) -> Iterator[Callable[[], None]]:
    """Gives what is to be called every now and then, and shows the rest at the end; nothing at all where log is None.

    Whole lines only, as nobody could see a secret in one half of it.
    """
    read = 0

    def look(*, last: bool = False) -> None:
        nonlocal read
        if log is None or not log.exists():
            return
        with log.open("rb") as file:
            file.seek(read)
            data = file.read()
        whole = data if last else data[: data.rfind(b"\n") + 1]
        if whole:
            read += len(whole)
            sys.stdout.write(scrub.text(whole.decode("utf-8", "replace"), secrets))
            sys.stdout.flush()

    try:
        yield look
    finally:
        look(last=True)
