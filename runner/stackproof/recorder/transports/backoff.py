"""Waits between attempts, of libraries that wait by themselves: after a replayed answer there is nothing to wait for.

Only that wait is left out which follows an answer of ours in the same task or thread, and in the same test: a service
that is really not yet ready is given its time.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar
from types import ModuleType
from typing import Any

from .. import scope

# Whose the last answer was, where it came from a recording: a thread outlives the test that it was given in.
_replayed: ContextVar[scope.Scope | None] = ContextVar("stackproof_replayed", default=None)


def note(*, replayed: bool) -> None:
    """Say whether the last answer in this task or thread came from a recording."""
    owner = (scope.current() or scope.STACK) if replayed else None
    if _replayed.get() is not owner:
        _replayed.set(owner)


def is_needless() -> bool:
    """Whether a wait that begins now would wait for a recording."""
    owner = _replayed.get()
    return owner is not None and owner == (scope.current() or scope.STACK)


def leave_out(module: ModuleType) -> Callable[[], None]:
    """Leave out the waits of `urllib3.util.Retry`; returns the undo. `module` is urllib3."""
    retry_class = module.util.Retry
    originals = {name: getattr(retry_class, name) for name in ("sleep", "sleep_for_retry")}

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def wait(self: Any, *args: Any, **kwargs: Any) -> Any:
            return None if is_needless() else original(self, *args, **kwargs)

        return wait

    ours = {name: make(original) for name, original in originals.items()}
    for name, method in ours.items():
        setattr(retry_class, name, method)

    def undo() -> None:
        for name, method in ours.items():
            if getattr(retry_class, name) is method:
                setattr(retry_class, name, originals[name])

    return undo
