"""Waits between attempts, of libraries that wait by themselves: after a replayed answer there is nothing to wait for.

Only that wait is left out which follows an answer of ours in the same thread: a service that really is not ready yet is
given its time.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

_thread = threading.local()


def note(*, replayed: bool) -> None:
    """Say whether the last answer in this thread came from a recording."""
    _thread.replayed = replayed


def is_needless() -> bool:
    """Whether a wait that begins now would wait for a recording."""
    return bool(getattr(_thread, "replayed", False))


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
