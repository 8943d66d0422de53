"""How far a release is: which step of how many runs, since when, and how much is left if it goes as the last time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import Progress as Bar
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

from stackproof.ci.log import NOWHERE, Log
from stackproof.evidence import age, steps

_EVERY = 15.0  # seconds between two signs of life where nothing redraws itself


@dataclass(kw_only=True, slots=True)
class Steps:
    """The steps of a release by name, in their order. before: what each took the last time, in seconds.

    took: what those took that have ended. A name that is listed twice is one step that comes twice.
    """

    names: Sequence[str]
    before: Mapping[str, float] = field(default_factory=dict)
    clock: Callable[[], float] = time.monotonic
    took: dict[str, float] = field(default_factory=dict)
    _number: int = 0
    _first: float | None = None
    _running: dict[str, float] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """`[ 3/38]`."""
        return f"[{self._number:{len(str(len(self.names)))}}/{len(self.names)}]"

    def begin(self, name: str) -> str:
        """The next step starts, which ends the one before; the line that says so."""
        self.end()
        return self.open(name, left=True)

    def open(self, name: str, *, left: bool = False) -> str:
        """The next step starts beside those that run; the line that says so. left: say how much there is to go."""
        now = self.clock()
        self._first = now if self._first is None else self._first
        self._number += 1
        self._running[name] = now
        so_far = f"{_whole(now - self._first)} so far" if self._number > 1 else ""
        told = ", ".join(filter(None, (so_far, self._left() if left else "")))
        return f"{self.place} {name}" + (f"   {told}" if told else "")

    def close(self, name: str) -> None:
        """One step is over; nothing happens where it does not run."""
        since = self._running.pop(name, None)
        if since is not None:
            self.took[name] = self.took.get(name, 0.0) + self.clock() - since

    def end(self) -> None:
        """Every step that runs is over; nothing happens where none does."""
        for name in tuple(self._running):
            self.close(name)

    def _left(self) -> str:
        """What the steps from here on took the last time; nothing where one of them is new."""
        ahead = list(self.names)[self._number - 1 :]
        if not ahead or any(name not in self.before for name in ahead):
            return ""
        return f"about {_whole(sum(self.before[name] for name in ahead))} to go"


def _whole(seconds: float) -> str:
    """`14 s`, `2 min 11 s`."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def last(run_dir: Path) -> dict[str, float]:
    """What each step took the last time, in the releases and lanes beside `run_dir`; empty where there are none."""
    others = [path for path in run_dir.parent.glob(f"*/{steps.NAME}") if path.parent != run_dir]
    took: dict[str, float] = {}
    for path in sorted(others, key=age.changed):
        # A lane has a part of the steps only.
        took |= steps.read(path.parent)
    return took


@contextmanager
def alive(what: str, console: Console, *, every: float = _EVERY) -> Iterator[None]:
    """Show that something which prints nothing still runs: a clock on a terminal, a line now and then elsewhere."""
    if console.is_terminal:
        with Bar(
            SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=console, transient=True
        ) as bar:
            bar.add_task(what, total=None)
            yield
        return
    began, over = time.monotonic(), threading.Event()

    def beat() -> None:
        while not over.wait(every):
            took = _whole(time.monotonic() - began)
            console.print(f"{what}: still running, {took}", markup=False, highlight=False, soft_wrap=True, emoji=False)

    thread = threading.Thread(target=beat, name="stackproof-alive", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(timeout=5)


@dataclass(frozen=True, kw_only=True, slots=True)
class Telling:
    """Where the checks say what they do. console: quiet where only the verdict is wanted. log: what folds steps."""

    console: Console
    say: Callable[[str], None]
    steps: Steps
    log: Log = NOWHERE

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Say that a check begins, and show that it lives while it prints nothing."""
        line = self.steps.begin(name)
        if not self.log.fold(line):
            self.say(line)
        try:
            with alive(name, self.console):
                yield
        finally:
            self.log.unfold()
