"""Runs cells of several plans side by side: each is a process already, and all are watched from one thread in turn.

There are no threads: signals reach the main one, and the kernel ends a child with the thread that started it.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from rich.console import Console

from stackproof.plan import Cell, Plan
from stackproof.run import cell_run, namespace, run_folder, way
from stackproof.run.cell_run import CellOutcome, CellRun
from stackproof.run.interrupts import Interrupts
from stackproof.run.screen import Screen
from stackproof.run.steps import Steps
from stackproof.stack import handover


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """outcomes: in the order in which cells ended; those that a signal kept from starting are absent. signal: the first
    one, None when none came.
    """

    outcomes: tuple[CellOutcome, ...]
    signal: signal.Signals | None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Running:
    cell: Cell
    steps: Generator[None, None, CellOutcome]


def execute(
    plans: Sequence[Plan], *, at_once: int, console: Console, environ: Mapping[str, str], steps: Steps
) -> Ended:
    """Run every cell of `plans`, at most `at_once` at a time, and show each line with the number of its step.

    All plans share one run folder, and none records or measures coverage. For the main thread only, as
    `orchestrate.execute`.
    """
    waiting = [(plan, cell) for plan in plans for cell in plan.cells]
    running: list[_Running] = []
    outcomes: list[CellOutcome] = []
    run_dir = plans[0].run_dir
    run_folder.make(run_dir)
    try:
        for line in run_folder.sweep(run_dir.parent):
            Screen(console, live=False).line(line)
        run_folder.prune(run_dir.parent)
        with Interrupts() as interrupts:
            try:
                while running or (waiting and interrupts.first is None):
                    while len(running) < at_once and interrupts.first is None:
                        chosen = next((each for each in waiting if _fits(each[1], running)), None)
                        if chosen is None:
                            break
                        waiting.remove(chosen)
                        plan, cell = chosen
                        Screen(console, live=False).line(steps.open(cell.title))
                        # Each line of it says which step it is of.
                        screen = Screen(console, live=False, prefix=f"{steps.place} ")
                        seal = namespace.decide(plan.options.seal, replay=True, environment=environ)
                        ran = CellRun(plan, cell, screen=screen, seal=seal, caller=environ, interrupts=interrupts)
                        running.append(_Running(cell=cell, steps=ran.steps()))
                    for each in tuple(running):
                        if (outcome := _ended(each)) is not None:
                            running.remove(each)
                            steps.close(each.cell.title)
                            outcomes.append(outcome)
                    time.sleep(cell_run.STEP)
            finally:
                _close(running)
                for line in handover.clear(run_dir, environ):
                    Screen(console, live=False).line(line)
                way.sweep()
    finally:
        run_folder.release(run_dir)
    return Ended(outcomes=tuple(outcomes), signal=interrupts.first)


def _fits(cell: Cell, running: Sequence[_Running]) -> bool:
    """Whether it may run beside these.

    Cells in containers hand a container on to the next one, so they come one after another and in their order; a port
    that a stack has fixed can be taken once, by whichever stack.
    """
    if cell.mode.in_containers or cell.containers:
        return not any(each.cell.mode.in_containers or each.cell.containers for each in running)
    return cell.stack.port is None or all(each.cell.stack.port != cell.stack.port for each in running)


def _ended(running: _Running) -> CellOutcome | None:
    try:
        next(running.steps)
    except StopIteration as ended:
        outcome: CellOutcome = ended.value
        return outcome
    return None


def _close(running: Sequence[_Running]) -> None:
    """Tear down what still runs, where something of ours went wrong: all of it, whatever becomes of the first."""
    with ExitStack() as stack:
        for each in reversed(running):
            stack.callback(each.steps.close)
