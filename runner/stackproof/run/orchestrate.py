"""Carries out a plan: one process for each cell, shown while it runs, judged and written down when it has ended."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from rich.console import Console

from stackproof import plan_text, secret_values
from stackproof.ci.log import NOWHERE, Log
from stackproof.console import make as make_console
from stackproof.errors import ExitCode
from stackproof.evidence import coverage, jsonfile, junit, manifest, merge, rescued, testlog
from stackproof.live import scrub
from stackproof.measure import begin, package
from stackproof.plan import Plan
from stackproof.recorder.mode import Mode
from stackproof.run import namespace, run_folder, suite, way
from stackproof.run.cell_run import CellOutcome, CellRun
from stackproof.run.interrupts import Interrupts
from stackproof.run.judge import worst
from stackproof.run.screen import Screen
from stackproof.run.steps import Steps
from stackproof.shards import left
from stackproof.stack import handover

__all__ = ["CellOutcome", "RunOutcome", "execute"]

# These say that the next cell would not fare better.
_ENDS_A_RUN = frozenset(
    {
        ExitCode.USAGE,
        ExitCode.DOCKER,
        ExitCode.STACK_START,
        ExitCode.INTERNAL,
        ExitCode.DISK,
        ExitCode.SIGINT,
        ExitCode.SIGTERM,
    }
)


@dataclass(frozen=True, kw_only=True, slots=True)
class RunOutcome:
    """What became of a run; cells that were not reached are absent."""

    run_id: str
    run_dir: Path
    cells: tuple[CellOutcome, ...]
    exit_code: ExitCode

    def to_json(self) -> dict[str, Any]:
        """The facts for `--json`."""
        return {
            "run_id": self.run_id,
            "run_dir": str(self.run_dir),
            "exit_code": int(self.exit_code),
            **self._coverage(),
            "cells": [
                {
                    "id": outcome.cell.id,
                    "title": outcome.cell.title,
                    "whole": outcome.cell.whole_id,
                    "shard": jsonfile.read(outcome.cell_dir / left.NAME),
                    "exit_code": int(outcome.exit_code),
                    "summary": outcome.summary,
                    "hint": outcome.hint,
                    "seconds": round(outcome.seconds, 3),
                    "sealed": outcome.sealed,
                    "again": outcome.again,
                    "folder": str(outcome.cell_dir),
                    "tests": testlog.read(outcome.cell_dir / "tests.jsonl").collected,
                    "result": jsonfile.read(outcome.cell_dir / "result.json"),
                }
                for outcome in self.cells
            ],
        }

    def _coverage(self) -> dict[str, Any]:
        found = jsonfile.read(self.run_dir / coverage.FOLDER / coverage.SUMMARY)
        return {} if found is None else {"coverage": found}


def execute(
    plan: Plan,
    *,
    console: Console | None = None,
    environ: Mapping[str, str] | None = None,
    keep_going: bool = False,
    steps: Steps | None = None,
    log: Log = NOWHERE,
) -> RunOutcome:
    """Run every cell of `plan`, show it, write the evidence, and say what became of it.

    console: where to show it, standard output when None; with `--json` nothing is shown, and one object is printed
    there at the end. environ: the caller's environment, ours when None. keep_going: also after a cell whose stack did
    not start. steps: of a larger whole, in which each cell is one. log: what folds each cell.
    NotProvenError when `--seal require` cannot be met, UsageError when coverage is asked for and not installed, and for
    what no swarm can do.
    For the main thread only: it takes SIGINT and SIGTERM over, and hands them to the cell that runs.
    """
    caller = dict(os.environ if environ is None else environ)
    out = make_console(sys.stdout, caller) if console is None else console
    if any(secret_values.may_be_told(cell.inference_mode) for cell in plan.cells):
        secrets = secret_values.of_cells(plan.cells, caller, plan.options.env)
        out.file = cast("IO[str]", scrub.Concealing(out.file, secrets))
    screen = Screen(
        Console(quiet=True) if plan.options.json else out,
        live=out.is_terminal and not suite.talks(plan.options),
        steps=steps,
        log=log,
    )
    if measured := begin.wanted(plan.options):
        package.require_here()
    here = plan.options.engine == "local"
    seal = namespace.decide(
        # What shuts off the tasks of a swarm is decided on their nodes.
        plan.options.seal if here else "never",
        replay=Mode.parse(plan.options.inference_mode) is Mode.REPLAY,
        environment=caller,
    )
    _refuse_on_swarm(plan, caller)
    run_folder.make(plan.run_dir)
    outcomes: list[CellOutcome] = []
    try:
        for line in run_folder.sweep(plan.run_dir.parent):
            screen.line(line)
        run_folder.prune(plan.run_dir.parent)
        jsonfile.write(plan.run_dir / run_folder.PLAN, plan_text.facts(plan))
        _say_elsewhere(plan, screen)
        with Interrupts() as interrupts:
            try:
                if here:
                    runs = (
                        CellRun(plan, cell, screen=screen, seal=seal, caller=caller, interrupts=interrupts)
                        for cell in plan.cells
                    )
                    outcomes += _in_turn(plan, runs, screen, go_on=lambda: keep_going and interrupts.first is None)
                else:
                    outcomes += _on_swarm(plan, screen, out, caller, interrupts)
            finally:
                # Left for a cell that never came, or by one that was killed.
                for line in handover.clear(plan.run_dir, caller):
                    screen.line(line)
                way.sweep()
        if measured:
            from stackproof.measure import told  # noqa: PLC0415 - most runs measure nothing

            for line in told.gathered(plan, caller):
                screen.line(line)
        if plan.options.tests:
            reports = {item.cell.id: _report(item.cell_dir) for item in outcomes}
            # A report that is missing or damaged is named in the evidence of its own cell.
            merge.write(plan.run_dir / "junit.xml", {name: report for name, report in reports.items() if report.cases})
            manifest.write(plan.run_dir, run_id=plan.run_id, project=plan.project)
    finally:
        screen.clear()
        run_folder.release(plan.run_dir)
        # Where no engine answers to begin anything, the verdict would take it for a run that left nothing.
        run_folder.forget(plan.run_dir)
    result = RunOutcome(
        run_id=plan.run_id,
        run_dir=plan.run_dir,
        cells=tuple(outcomes),
        exit_code=worst(outcome.exit_code for outcome in outcomes),
    )
    if plan.options.json:
        Screen(out, live=False).line(json.dumps(result.to_json(), indent=2, ensure_ascii=False))
    return result


def _say_elsewhere(plan: Plan, screen: Screen) -> None:
    """Where nothing runs at all, nobody is to wonder why."""
    for cell, shard in plan.elsewhere if not plan.cells else ():
        screen.line(f"PASS  nothing is left for shard {plan.options.shard}: {cell.title} is shard {shard}'s")


def _in_turn(
    plan: Plan, runs: Iterable[CellRun], screen: Screen, *, go_on: Callable[[], bool]
) -> Iterator[CellOutcome]:
    """One cell after the other. go_on: whether also after one that says that the next would not fare better."""
    for cell, run in zip(plan.cells, runs, strict=True):
        screen.step(cell)
        outcome = run.run()
        yield outcome
        if outcome.exit_code in _ENDS_A_RUN and not go_on():
            return


def _refuse_on_swarm(plan: Plan, caller: Mapping[str, str]) -> None:
    """Before there is a run folder, which the verdict would take for a run that left nothing."""
    if plan.options.engine == "local":
        return
    from stackproof.swarm import refusals  # noqa: PLC0415 - most runs are on one machine

    refusals.check(plan, caller)


def _on_swarm(
    plan: Plan, screen: Screen, console: Console, caller: Mapping[str, str], interrupts: Interrupts
) -> Sequence[CellOutcome]:
    from stackproof.swarm import coordinator  # noqa: PLC0415 - most runs are on one machine

    shown = Console(quiet=True) if plan.options.json else console
    live = console.is_terminal and not plan.options.json
    return coordinator.run(
        plan,
        coordinator.Surroundings(screen=screen, console=shown, live=live, caller=caller, interrupts=interrupts),
    )


def _report(cell_dir: Path) -> junit.Report:
    return rescued.report_of(junit.read(cell_dir / "junit.xml"), testlog.read(cell_dir / "tests.jsonl"))
