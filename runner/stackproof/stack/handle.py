"""A running stack, as the tests see it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # Only named here: a server run never loads the in-process machinery.
    from stackproof.catalog.records import StackMode
    from stackproof.stack.inprocess import InProcessApp


@dataclass(frozen=True, kw_only=True, slots=True)
class StackHandle:
    """What a test may know about the software under test.

    `base_url` has no trailing slash. `app` is set for a library stack that has one; `pid` and `log` for one that is a
    process of its own. `started_in` is the time from start to ready, in seconds. `ended` says how it has ended by
    itself, and gives None while it runs, or where nobody here would know. `end` asks it to end, and does not wait.
    """

    name: str
    mode: StackMode
    base_url: str
    app: InProcessApp | None = None
    log: Path | None = None
    pid: int | None = None
    started_in: float = 0.0
    ended: Callable[[], str | None] = lambda: None
    end: Callable[[], None] = lambda: None


OVER = "over"
"""File of a cell's folder: its pytest has nothing more to do with the stack, and is about to end."""
