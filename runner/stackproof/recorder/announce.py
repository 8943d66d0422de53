"""Marks the stretch in which a transport of ours opens a connection, for the hook that watches sockets."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

_announced: ContextVar[bool] = ContextVar("stackproof_announced", default=False)


@contextlib.contextmanager
def announced() -> Iterator[None]:
    """Connections opened in this block belong to a call that the recorder has seen."""
    token = _announced.set(True)
    try:
        yield
    finally:
        _announced.reset(token)


def is_announced() -> bool:
    """Whether the code that runs now opens a connection for a call that was seen."""
    return _announced.get()
