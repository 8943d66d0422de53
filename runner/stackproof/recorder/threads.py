"""Carry the scope into threads and executors, which start with an empty context before Python 3.14."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from . import announce, scope


def _within(owner: scope.Scope | None, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    with scope.use(owner):
        return function(*args, **kwargs)


def _announced(owner: scope.Scope | None, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    # asyncio looks names up in its pool: that belongs to the call for which a connection is opened.
    with announce.announced():
        return _within(owner, function, *args, **kwargs)


def carry() -> Callable[[], None]:
    """Patch `Thread.start` and `ThreadPoolExecutor.submit`; returns the undo.

    Only our own variable travels: copying the whole context would change what the program under test sees.
    """
    start, submit = threading.Thread.start, ThreadPoolExecutor.submit

    @functools.wraps(start)
    def start_with_scope(self: threading.Thread) -> None:
        owner = scope.carried()
        if owner is not None:
            self.run = functools.partial(_within, owner, self.run)  # type: ignore[method-assign]
        start(self)

    @functools.wraps(submit)  # type: ignore[arg-type]
    def submit_with_scope(
        self: ThreadPoolExecutor, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        # Also without a scope: the pool's thread may have been started by, and so belong to, another test.
        run = _announced if announce.is_announced() else _within
        return submit(self, run, scope.carried(), fn, *args, **kwargs)

    threading.Thread.start = start_with_scope  # type: ignore[method-assign]
    ThreadPoolExecutor.submit = submit_with_scope  # type: ignore[assignment]

    def undo() -> None:
        # What another tool has put around ours since then is not ours to remove; ours does nothing without a scope.
        if threading.Thread.start is start_with_scope:
            threading.Thread.start = start  # type: ignore[method-assign]
        if ThreadPoolExecutor.submit is submit_with_scope:
            ThreadPoolExecutor.submit = submit  # type: ignore[method-assign]

    return undo
