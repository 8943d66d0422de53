"""What a person sees while shards run: a bar for each on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from stackproof.plaintext import counted
from stackproof.swarm.pieces import Piece, Try

_EVERY = 15.0  # seconds between two lines that say that it goes on
_ROWS = 24


class Shown:
    """The shards of a run on `console`. line: prints one line as it is."""

    def __init__(
        self,
        console: Console,
        *,
        live: bool,
        line: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console, self._live, self.line, self._clock = console, live, line, clock
        self._began = self._last = clock()
        self._bar: Progress | None = None
        self._rows: dict[int, TaskID] = {}

    def begin(self, pieces: Sequence[Piece]) -> None:
        """They are about to be started."""
        self._began = self._last = self._clock()
        if not self._live:
            return
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("{task.fields[words]}"),
            console=self._console,
            transient=True,
        )
        for number, piece in enumerate(pieces[:_ROWS]):
            self._rows[number] = self._bar.add_task(piece.title, total=None, words="")
        if len(pieces) > _ROWS:
            self._rows[-1] = self._bar.add_task("others", total=len(pieces) - _ROWS, words="shards")
        self._bar.start()

    def look(self, pieces: Sequence[Piece], tries: Sequence[Try]) -> None:
        """How far they are now."""
        if self._bar is not None:
            self._update(self._bar, pieces, {each.piece: each for each in tries})
        elif self._clock() - self._last >= _EVERY:
            self._say(pieces)

    def delivered(self, piece: Piece, by: Try, pieces: Sequence[Piece]) -> None:
        """The evidence of one has come."""
        tests = f"{piece.done}/{piece.total}" if piece.total else "no tests"
        failed = f", {piece.failed} failed" if piece.failed else ""
        settled = sum(each.settled for each in pieces)
        self._last = self._clock()
        self.line(
            f"{piece.title}  {tests}{failed}  on {by.host or 'an unknown node'}"
            f"  {self._last - by.begun:.1f} s  ({settled} of {len(pieces)})"
        )

    def clear(self) -> None:
        """Take the bars away; nothing happens where there are none."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _say(self, pieces: Sequence[Piece]) -> None:
        self._last = self._clock()
        done, total = sum(piece.done for piece in pieces), sum(piece.total for piece in pieces)
        settled = sum(piece.settled for piece in pieces)
        shards = f"{settled} of {counted(len(pieces), 'shard')}"
        self.line(f"{shards}, {done}/{total or '?'} tests, {self._last - self._began:.0f} s")

    def _update(self, bar: Progress, pieces: Sequence[Piece], tries: dict[int, Try]) -> None:
        for number, piece in enumerate(pieces[:_ROWS]):
            words = _words(piece, tries.get(number))
            bar.update(self._rows[number], total=piece.total or None, completed=piece.done, words=words)
        if -1 in self._rows:
            bar.update(self._rows[-1], completed=sum(piece.settled for piece in pieces[_ROWS:]))


def _words(piece: Piece, last: Try | None) -> str:
    if piece.lost:
        return "lost"
    if last is None:
        return "waits"
    again = f", attempt {last.number}" if last.number > 1 else ""
    where = f"on {last.host}{again}" if last.host else f"is being placed{again}"
    failed = f", {piece.failed} failed" if piece.failed else ""
    return f"{'done ' if piece.by is not None else ''}{where}{failed}"
