"""Signals that end a run, remembered instead of thrown: whoever waits asks, so that no teardown is cut in two."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self

# Terminals and supervisors often deliver one Ctrl-C twice, once to the group and once by hand.
SAME_WITHIN = 0.5

# A closed terminal ends a run as SIGTERM does.
_WATCHED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(Exception):  # noqa: N818 - a request, not an error
    """Somebody asked this process to stop; `signum` is SIGINT or SIGTERM."""

    def __init__(self, signum: signal.Signals) -> None:
        super().__init__(signum.name)
        self.signum = signum


class Interrupts:
    """Remembers SIGINT, SIGTERM and SIGHUP while it is entered; only the main thread may enter it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._received: list[tuple[signal.Signals, float]] = []
        self._before: dict[int, Any] = {}

    @property
    def first(self) -> signal.Signals | None:
        """The first request to stop, or None."""
        return self._received[0][0] if self._received else None

    @property
    def count(self) -> int:
        """How many requests there were; two within half a second are one."""
        return len(self._received)

    def check(self) -> None:
        """Raise Interrupted when there was a request; to be called in every loop that waits for a start."""
        if self._received:
            raise Interrupted(self._received[0][0])

    def note(self, signum: int) -> None:
        """Take down a request, as the handler does."""
        now = self._clock()
        if self._received and now - self._received[-1][1] < SAME_WITHIN:
            return
        kind = signal.SIGINT if signum == signal.SIGINT else signal.SIGTERM
        self._received.append((kind, now))

    def forget(self) -> None:
        """Start anew, so that the next request is the first one."""
        self._received.clear()

    def __enter__(self) -> Self:
        """Take the handlers over."""
        for signum in _WATCHED:
            self._before[signum] = signal.signal(signum, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Put the handlers back."""
        for signum, handler in self._before.items():
            signal.signal(signum, handler)
        self._before.clear()

    def _handle(self, signum: int, _frame: FrameType | None) -> None:
        self.note(signum)


class Thrown(Interrupts):
    """The same, and the first request is raised as KeyboardInterrupt at once: for work that waits without asking.

    Later ones are taken down alone, so that what the first one has begun to tear down comes to its end.
    """

    def _handle(self, signum: int, _frame: FrameType | None) -> None:
        first = not self.count
        self.note(signum)
        if first:
            raise KeyboardInterrupt
