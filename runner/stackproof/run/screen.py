"""What a person sees of a run: a live bar on a terminal, plain lines with the same words elsewhere."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from rich.text import Text

from stackproof import calls_told, painting
from stackproof.ci.log import NOWHERE, Log
from stackproof.console import columns
from stackproof.errors import ExitCode
from stackproof.evidence import jsonfile
from stackproof.evidence.testlog import TestEntry
from stackproof.folding import folded
from stackproof.plaintext import counted
from stackproof.plan import Cell
from stackproof.recorder import encodings
from stackproof.recorder.mode import Mode
from stackproof.run.judge import Judgement
from stackproof.run.namespace import Seal
from stackproof.run.progress import Progress
from stackproof.run.steps import Steps, alive
from stackproof.stack.process import shown

_WIDE = 100  # columns from which a bar has room for reasons, too
_PLAIN_EVERY = 15.0
_PLAIN_APART = 1.0
_FAILURES_SHOWN = 20
_LINES_OF_A_FAILURE = 60


class Screen:
    """Prints a run to `console`; `live` is whether a bar that redraws itself can be used.

    steps: of what the cells are a part of; each cell is a step then. prefix: of each line, where cells run
    side by side. log: what folds each cell up to its failures and its conclusion.
    """

    def __init__(
        self,
        console: Console,
        *,
        live: bool,
        clock: Callable[[], float] = time.monotonic,
        steps: Steps | None = None,
        prefix: str = "",
        log: Log = NOWHERE,
    ) -> None:
        self._log = log
        self._steps = steps
        self._prefix = prefix
        self._console = console
        self._live = live
        self._clock = clock
        self._bar: Bar | None = None
        self._step = 0
        self._last_line = 0.0
        self._began = 0.0
        self._done = 0
        self._changed = 0.0

    def line(self, text: str = "") -> None:
        """One line: nothing in it is taken for markup. On a terminal that is too narrow it goes on below, indented."""
        width = columns(self._console.file, os.environ)
        room = None if width is None else max(width - len(self._prefix), 1)
        for number, part in enumerate([text] if room is None else folded(text, width=room)):
            line = Text(f"{self._prefix}{part}")
            if number == 0 and (found := painting.span(text)):
                start, end, style = found
                line.stylize(style, len(self._prefix) + start, len(self._prefix) + end)
            self._console.print(line, markup=False, highlight=False, soft_wrap=True, emoji=False)

    def step(self, cell: Cell) -> None:
        """A cell is next: a line where it is one step of many, nothing where it is all there is and nothing folds."""
        line = cell.title if self._steps is None else self._steps.begin(cell.title)
        if not self._log.fold(line) and self._steps is not None:
            self.line(line)

    def ready(self, event: Mapping[str, Any]) -> None:
        """A stack or service answers: from here on the tests' time counts."""
        self._began = self._last_line = self._clock()
        log = jsonfile.text(event, "log")
        line = f"● {event['name']} ready in {event['seconds']:.1f} s at {event['url']}"
        where = f"log {shown(Path(log))}" if log else ""
        if where and self._live and len(f"{self._prefix}{line}   {where}") > self._console.width:
            # A path that goes over the edge of a terminal cannot be opened from there with a click.
            self.line(line)
            self.line(f"  {where}")
        else:
            self.line(f"{line}   {where}".rstrip())

    @contextlib.contextmanager
    def preparing(self, cell: Cell) -> Iterator[None]:
        """Before its process is there: an environment is made, an image is built, something is fetched."""
        if self._live:
            yield
            return
        with alive(f"{self._prefix}{cell.title}: being prepared", self._console):
            yield

    def begin(self, cell: Cell) -> None:
        """The tests of `cell` are about to run."""
        self._step = self._done = 0
        self._began = self._last_line = self._changed = self._clock()
        if self._live:
            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(bar_width=20 if self._console.width >= _WIDE else 8),
                MofNCompleteColumn(),
                TextColumn("{task.fields[words]}"),
                TimeElapsedColumn(),
                console=self._console,
                transient=True,
            )
            place = f"{self._steps.place} " if self._steps is not None else ""
            self._bar.add_task(f"{place}{cell.suite.name}", total=None, words="")
            self._bar.start()

    def progress(self, cell: Cell, progress: Progress) -> None:
        """Show how far it is: in the bar, or as a line for every tenth or every 15 s."""
        if progress.done != self._done:
            self._done, self._changed = progress.done, self._clock()
        if self._bar is not None:
            words = "no result yet"
            if progress.total:
                words = progress.words() if self._console.width >= _WIDE else progress.counts.words()
            self._bar.update(self._bar.task_ids[0], total=progress.total or None, completed=progress.done, words=words)
            return
        now = self._clock()
        step = progress.done * 10 // progress.total if progress.total else 0
        quiet = now - self._last_line
        if not progress.total and quiet >= _PLAIN_EVERY:
            # A container is built, a stack starts slowly, or a runner tells of its tests at the end.
            self._last_line = now
            self.line(f"{cell.suite.name}: no test has a result yet, {now - self._began:.0f} s")
            return
        if progress.total and progress.done >= progress.total and quiet >= _PLAIN_EVERY:
            # Containers go, evidence is written.
            self._last_line = now
            self.line(f"{cell.suite.name}: every test has a result, it ends, {now - self._began:.0f} s")
            return
        # The last tenth is the line that `end` prints; a quick suite needs no other.
        if (self._step < step < 10 and quiet >= _PLAIN_APART) or (
            progress.done < progress.total and quiet >= _PLAIN_EVERY
        ):
            self._step, self._last_line = step, now
            self.line(
                f"{cell.suite.name} {progress.done}/{progress.total}  {progress.counts.words()}"
                f"  {now - self._began:.1f} s"
            )

    def end(self, cell: Cell, progress: Progress) -> None:
        """The tests have ended."""
        took = max(0.0, self._changed - self._began)
        self.clear()
        total = max(progress.total, progress.done)
        if total:
            bar = f"{'━' * 20} " if self._live else ""
            self.line(f"{cell.suite.name} {bar}{progress.done}/{total}  {progress.words()}  {took:.1f} s")

    def clear(self) -> None:
        """Take the bar away; nothing happens when there is none."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def failures(self, entries: Sequence[TestEntry], misses: Sequence[Mapping[str, Any]], log: Path) -> None:
        """Every failure with its text, or with the miss behind it; each miss once."""
        if entries or misses:
            self._log.unfold()
        missed = {str(miss.get("test_id")) for miss in misses}
        for entry in [entry for entry in entries if entry.nodeid not in missed][:_FAILURES_SHOWN]:
            self.line(f"✗ {entry.nodeid}")
            lines = (entry.text or "").rstrip().splitlines()
            for text in lines[-_LINES_OF_A_FAILURE:]:
                self.line(f"  {text}")
        if len(entries) > _FAILURES_SHOWN:
            self.line(f"  … and more: {len(entries)} in all, see {shown(log)}")
        said: set[str] = set()
        for miss in misses:
            message = str(miss.get("message", "")).strip("\n")
            if message in said:
                continue
            said.add(message)
            if message.startswith("✗"):
                for text in message.splitlines():
                    self.line(text)
                continue
            self.line(f"✗ {miss.get('test_id') or miss.get('scope') or 'outside of any test'}")
            for text in message.splitlines():
                self.line(f"  {text.rstrip()}")

    def calls(self, cell: Cell, calls: Mapping[str, Any] | None, sealed: str, seal: Seal) -> None:
        """The provider calls, and what kept the rest of the world away."""
        if calls is None:
            return
        numbers = calls_told.counted(calls, cell.inference_mode, also=("live", "late"))
        match sealed:
            case "namespace":
                by = "; sealed (network namespace)"
            case "tripwire":
                why = f" ({seal.reason})" if seal.reason else ""
                by = f"; guarded in Python only: child processes and C extensions are not{why}"
            case _:
                by = "; not sealed" if cell.inference_mode is Mode.REPLAY else ""
        self.line(f"provider calls: {numbers}{by}")
        for text in calls_told.past(calls, cell.inference_mode):
            self.line(text)

    def recordings(self, cell: Cell, calls: Mapping[str, Any] | None, folder: str) -> None:
        """What a run that records has written, and that one that only observes has not."""
        if calls is not None and cell.inference_mode is Mode.VERIFY:
            self.line(f"recordings: {folder}/{cell.setup.name} is left as it was")
        if calls is None or not cell.inference_mode.records:
            return
        dropped = calls.get("not_promoted") or 0
        left = f"; {dropped} not kept, their tests did not pass" if dropped else ""
        if refused := calls.get("refused"):
            # Likely what is behind the failures, and a test that passes all the same would not be asked about it.
            why = ", ".join(map(str, calls.get("dropped") or ()))
            answers = "1 answer" if refused == 1 else f"{refused} answers"
            left += f"; {answers} not kept: {why}"
        if encoded := calls.get("encoded"):
            left += f"; {encodings.told(encoded)}"
        self.line(
            f"recordings: {counted(calls.get('recorded') or 0, 'call')} recorded, "
            f"{counted(calls.get('written') or 0, 'file')} written, "
            f"{calls.get('removed') or 0} removed, in {folder}/{cell.setup.name}{left}"
        )

    def spent(self, budget: Mapping[str, Any]) -> None:
        """What real calls have used, and of how much."""
        for text in calls_told.spent(budget):
            self.line(text)

    def conclusion(self, cell: Cell, judgement: Judgement, seconds: float, again: str) -> None:
        """PASS, or what else it is; and how to have exactly this cell again."""
        self._log.unfold()
        reason = f": {judgement.reason}" if judgement.reason else ""
        if judgement.exit_code in _NO_TESTS:
            self.line(f"✗ {judgement.reason}")
        else:
            self.line(f"{_WORDS.get(judgement.exit_code, 'FAIL')}  {cell.title} in {seconds:.1f} s{reason}")
        if judgement.exit_code is not ExitCode.PASS:
            for text in (judgement.hint or "").splitlines():
                self.line(f"  {text}")
            self.line(f"  again: {again}")


# The tests were never the question: what went wrong says enough.
_NO_TESTS = frozenset({ExitCode.USAGE, ExitCode.DOCKER, ExitCode.STACK_START, ExitCode.INTERNAL, ExitCode.DISK})
_WORDS = {
    ExitCode.PASS: "PASS",
    ExitCode.NOTHING_RAN: "NOTHING RAN",
    ExitCode.NOT_PROVEN: "NOT PROVEN",
    ExitCode.SIGINT: "STOPPED",
    ExitCode.SIGTERM: "STOPPED",
}
