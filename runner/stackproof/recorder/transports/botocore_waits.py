"""botocore sends through urllib3 and is recorded there; only its own waits between attempts are its own."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from ..brain import Brain
from .backoff import is_needless


class _Clock:
    """A module's `time`, with a `sleep` of ours."""

    def __init__(self, time: Any) -> None:
        self._time = time

    def sleep(self, seconds: float) -> None:
        if not is_needless():
            self._time.sleep(seconds)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._time, name)


def install(module: ModuleType, active: Callable[[], Brain | None]) -> Callable[[], None]:  # noqa: ARG001 - as all
    """Leave out the waits of `botocore.endpoint`, which calls `time.sleep` by the module; returns the undo."""
    original = module.time
    clock = _Clock(original)
    module.time = clock  # type: ignore[attr-defined]

    def undo() -> None:
        if module.time is clock:
            module.time = original  # type: ignore[attr-defined]

    return undo
