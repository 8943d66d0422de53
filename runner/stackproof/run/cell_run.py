"""One cell while it runs: its process is started, watched, told of signals, judged and written down."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stackproof import disk, secret_values
from stackproof.catalog.records import StackMode
from stackproof.ci import guard, kind
from stackproof.edge import stack_edge
from stackproof.errors import ExitCode, StackproofError
from stackproof.evidence import jsonfile
from stackproof.evidence.cell import write_result
from stackproof.live import scrub
from stackproof.measure import begin, package
from stackproof.plan import Cell, Plan, again
from stackproof.recorder import debug
from stackproof.recorder.mode import Mode
from stackproof.run import (
    cell_facts,
    cell_file,
    cell_log,
    dividing,
    made_first,
    namespace,
    record_all,
    run_folder,
    suite,
)
from stackproof.run.interrupts import Interrupted, Interrupts
from stackproof.run.judge import CellFacts, Judgement, judge
from stackproof.run.progress import Progress, Tail
from stackproof.run.screen import Screen
from stackproof.run.told_by_child import Handed
from stackproof.stack import interpreter, lifetime, project_python, start
from stackproof.stack.process import last_lines, tail

STEP = 0.05  # seconds between two looks at a cell
# pytest's own deadline, SIGTERM and SIGKILL for pytest, stack and service, and some air.
_STOP_WITHIN = suite.STOP_WITHIN + 4 * lifetime.GRACE + 10.0


@dataclass(frozen=True, kw_only=True, slots=True)
class CellOutcome:
    """What became of one cell. summary: counts and the reason, one line. again: the command that runs it anew."""

    cell: Cell
    cell_dir: Path
    exit_code: ExitCode
    summary: str
    hint: str | None
    seconds: float
    sealed: str
    again: str


class CellRun:
    """One cell of `plan`, as the orchestrator sees it."""

    def __init__(
        self,
        plan: Plan,
        cell: Cell,
        *,
        screen: Screen,
        seal: namespace.Seal,
        caller: Mapping[str, str],
        interrupts: Interrupts,
    ) -> None:
        self._plan, self._cell, self._screen = plan, cell, screen
        if plan.options.keep and plan.options.seal != "require" and not cell.mode.in_containers:
            # It would share the namespace of its tests, where nobody could reach it.
            seal = namespace.Seal(sealed=False, reason="a stack that is kept has to be reached")
        self._seal, self._caller, self._interrupts = seal, caller, interrupts
        self._dir = plan.run_dir / "cells" / cell.id
        self._progress = Progress()
        self._tests = Tail(self._dir / "tests.jsonl")
        self._events = Tail(self._dir / cell_log.NAME)
        self._signals_passed = 0

    def run(self) -> CellOutcome:
        """Run it to its end, whatever that is; only the main thread may, or the kernel would end it with its thread."""
        steps = self.steps()
        while True:
            try:
                next(steps)
            except StopIteration as ended:
                outcome: CellOutcome = ended.value
                return outcome
            time.sleep(STEP)

    def steps(self) -> Generator[None, None, CellOutcome]:
        """The same in steps, for who runs several side by side: to be asked for the next one every STEP seconds.

        Closed before its end, it tears the cell down as for a SIGTERM, and waits for that.
        """
        began = time.monotonic()
        self._dir.mkdir(parents=True, exist_ok=True)
        try:
            for problem in dividing.prepare(self._dir, self._plan, self._cell):
                self._screen.line(f"times: {problem}")
            with self._screen.preparing(self._cell):
                order = self._order()
            yield from self._await(cell_file.write(self._dir, order))
        except StackproofError as error:
            # Before its process was there: nothing of it has run.
            jsonfile.write(self._dir / "outcome.json", {"error": start.error_facts(error)})
        except Interrupted:
            pass  # judged by its signal
        judgement, drift = self._compared(self._judge())
        seconds = time.monotonic() - began
        self._show(judgement, seconds, drift)
        if self._plan.options.tests:
            write_result(
                self._dir,
                cell=self._cell,
                project=self._plan.project,
                recordings=self._plan.project / self._plan.options.recording_dir,
                run_id=self._plan.run_id,
                command=again(self._cell, self._plan.options),
            )
        words = self._progress.words() if self._progress.done else ""
        return CellOutcome(
            cell=self._cell,
            cell_dir=self._dir,
            exit_code=judgement.exit_code,
            summary=judgement.reason or words,
            hint=judgement.hint,
            seconds=seconds,
            sealed=self._sealed(),
            again=again(self._cell, self._plan.options),
        )

    def _compared(self, judgement: Judgement) -> tuple[Judgement, tuple[str, ...]]:
        """What it ends with once its answers were compared with the recordings, and lines about that."""
        if self._cell.inference_mode is not Mode.VERIFY:
            return judgement, ()
        from stackproof.run import drifted  # noqa: PLC0415 - nothing is compared in other modes

        ended = drifted.compare(judgement, self._cell, self._dir, self._plan, self._caller)
        return ended.judgement, ended.lines

    def _order(self) -> cell_file.CellOrder:
        """What the process of the cell is told. What has to be fetched first is fetched here, where there is a network.

        Raises what `interpreter.choose` and `made_first.of_cell` raise, and Interrupted.
        """
        stack_edge.prepare(self._cell, environment=self._caller, say=self._screen.line, check=self._interrupts.check)
        python = None
        tests = self._tests_python()
        if not self._plan.options.collect_only:
            python = interpreter.choose(
                self._cell.stack,
                self._cell.mode,
                own=tests,
                environment=self._caller,
                say=self._screen.line,
                check=self._interrupts.check,
            )
            if begin.wanted(self._plan.options):
                package.require_at(python, self._caller)
            made_first.of_cell(
                self._cell,
                tests=self._plan.options.tests,
                environment=self._caller,
                say=self._screen.line,
                check=self._interrupts.check,
            )
        return cell_file.CellOrder(
            run_id=self._plan.run_id,
            cell_id=self._cell.id,
            project=self._plan.project.absolute(),
            orchestrator=os.getpid(),
            options=dividing.options(self._plan, self._cell),
            python=python,
            tests=(python or tests) if self._cell.mode is StackMode.LIBRARY else tests,
        )

    def _tests_python(self) -> Path:
        """The Python of the tests on this machine, where no stack has them in its process."""
        return project_python.choose(
            self._plan.options.python, self._plan.project, environment=self._caller, say=self._screen.line
        )

    def _await(self, extra: Mapping[str, str]) -> Generator[None, None, None]:
        """Start the process of the cell, show what it does, hand signals on, and see it to its end."""
        # A cell with containers talks to their engine: it shuts off only its tests, by itself.
        prefix = () if self._cell.mode.in_containers else self._seal.prefix
        command = [*prefix, sys.executable, "-P", "-m", "stackproof.run.cell", str(self._dir)]
        talks = suite.talks(self._plan.options)
        output = None if talks else (self._dir / "cell.log").open("ab")
        # Where a CI system reads marks in the output, both streams come through here, and in one order.
        told: Handed | None = None
        pipe: int | None = None
        if talks and kind.of(self._caller).reads_marks:
            reading, pipe = os.pipe()
            told = Handed(reading, lambda line: self._screen.line(guard.uncoloured(line)))
        # A session of its own: a Ctrl-C at the terminal reaches us alone, and we hand it on once.
        process = subprocess.Popen(
            command,
            cwd=self._plan.project,
            env={**self._caller, **extra},
            stdout=output if pipe is None else pipe,
            stderr=None if output is None and pipe is None else subprocess.STDOUT,
            start_new_session=True,
        )
        if pipe is not None:
            os.close(pipe)
        killed_at: float | None = None
        try:
            if self._plan.options.tests:
                self._screen.begin(self._cell)
            while process.poll() is None:
                if told is not None:
                    told.look()
                self._look()
                if self._interrupts.count > self._signals_passed:
                    killed_at = killed_at or time.monotonic() + _STOP_WITHIN
                    self._signals_passed = self._interrupts.count
                    self._pass_on(process)
                if killed_at is not None and time.monotonic() > killed_at:
                    process.kill()
                yield
            self._look()
        finally:
            if output is not None:
                output.close()
            self._screen.clear()
            _end(process)
            if told is not None:
                told.close()
            # Nothing is left to do here unless the cell itself was killed.
            lifetime.end_marked(*run_folder.markers(self._plan.run_id, self._dir))
            if secret_values.may_be_told(self._cell.inference_mode):
                # Nobody writes any more, and nothing has been made of it yet.
                scrub.folder(self._dir, secret_values.of_cells([self._cell], self._caller, self._plan.options.env))

    def _pass_on(self, process: subprocess.Popen[bytes]) -> None:
        signum = self._interrupts.first or signal.SIGTERM
        process.send_signal(signum)
        if self._signals_passed == 1:
            who = "the tests stop and everything" if self._plan.options.tests else "the stack"
            self._screen.line(f"{signum.name}: {who} is torn down; once more stops at once")

    def _look(self) -> None:
        """Take in and show what was written since the last look."""
        for event in self._events.read():
            match event.get("event"):
                case "ready":
                    self._screen.ready(event)
                case "keep":
                    self._screen.line(f"● kept at {event.get('url')} until Ctrl-C")
                    if self._cell.mode.in_containers and not self._plan.options.tests:
                        run = self._plan.run_id
                        self._screen.line(
                            f"  elsewhere: stackproof stack logs --follow {run}, stackproof stack down {run}"
                        )
                case _:
                    self._screen.line(str(event.get("text", "")))
        for event in self._tests.read():
            self._progress.note(event)
        if self._plan.options.tests and not self._plan.options.collect_only:
            self._screen.progress(self._cell, self._progress)

    def _facts(self) -> CellFacts:
        return cell_facts.read(self._dir, self._cell, self._plan.options)

    def _judge(self) -> Judgement:
        facts = self._facts()
        if facts.outcome is None and self._interrupts.first is not None:
            # It came before the process of the cell was ready to take it down.
            facts = replace(facts, outcome={"signal": self._interrupts.first.name})
        records = self._cell.inference_mode.records
        keep = disk.promote(self._plan.run_id) if records else ""
        if facts.outcome is None and (full := disk.probed(self._dir, keep=keep)) is not None:
            # Nothing can be written of this cell, neither by it nor here: what it has left stays as it is.
            raise full
        judgement = judge(facts)
        if judgement.exit_code is ExitCode.RECORDINGS and record_all.can(facts, self._cell):
            return replace(judgement, hint=f"record all of them: {record_all.command(self._cell, self._plan.options)}")
        log = self._dir / (judgement.log or "cell.log")
        # An error of our own that the cell could name stands in its log with its traceback.
        wanted = judgement.log is not None or judgement.exit_code is ExitCode.INTERNAL
        if not wanted or not (lines := tail(log)):
            return judgement
        return replace(judgement, hint="\n".join(filter(None, (judgement.hint, last_lines(log, lines)))))

    def _sealed(self) -> str:
        return str((jsonfile.read(self._dir / "outcome.json") or {}).get("sealed", "none"))

    def _show(self, judgement: Judgement, seconds: float, drift: Sequence[str]) -> None:
        facts, options = self._facts(), self._plan.options
        if options.collect_only or not options.tests:
            if judgement.exit_code is not ExitCode.PASS:
                self._screen.conclusion(self._cell, judgement, seconds, again(self._cell, options))
            return
        for line in dividing.lines(self._dir):
            self._screen.line(line)
        self._screen.end(self._cell, self._progress)
        bad = [entry for entry in facts.log.tests.values() if entry.outcome.bad]
        self._screen.failures(bad, facts.misses, self._dir / facts.tests_log)
        self._screen.calls(self._cell, facts.log.calls, self._sealed(), self._seal)
        self._screen.recordings(self._cell, facts.log.calls, options.recording_dir)
        for line in drift:
            self._screen.line(line)
        if facts.budget is not None:
            self._screen.spent(facts.budget)
        if options.debug:
            for line in debug.where(str(self._dir), str(self._plan.project)):
                self._screen.line(line)
        self._screen.conclusion(self._cell, judgement, seconds, again(self._cell, options))


def _end(process: subprocess.Popen[bytes]) -> None:
    """See the cell to its end when something went wrong on this side: it tears down as for a SIGTERM."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout=_STOP_WITHIN)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(timeout=5)
