"""An edge by itself, without a run around it: for a stack that somebody has started, until Ctrl-C."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from stackproof import calls_told, catalog, environment, options, plan
from stackproof.catalog.edge import RecorderPlace
from stackproof.catalog.records import StackMode, StackSpec
from stackproof.edge import process, wiring
from stackproof.edge.places import Places
from stackproof.errors import ExitCode
from stackproof.evidence import jsonfile
from stackproof.recorder import recording
from stackproof.recorder.brain import Brain
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope
from stackproof.recorder.settings import VARIABLE, Settings
from stackproof.run import run_folder, rundir, spending, writable
from stackproof.run.interrupts import Interrupted, Interrupts
from stackproof.stack import lifetime, service

_STEP = 0.1
_NAME = "by-hand"


def serve(
    given: Mapping[str, object],
    *,
    project: Path,
    caller: Mapping[str, str],
    port: int | None,
    out: Callable[[str], None],
) -> ExitCode:
    """Serve until a signal; what was recorded is kept then. given: options of a run. Raises what a run's start does."""
    cell, chosen, run_id, run_dir = _planned(given, project, caller)
    cell_dir = run_dir / "cells" / cell.id
    if cell.inference_mode.records:
        writable.require(project / chosen.recording_dir, cell.setup.name)
    run_folder.make(run_dir)
    cell_dir.mkdir(parents=True)
    lifetime.adopt_orphans()
    settings: Settings | None = None
    try:
        with Interrupts() as interrupts, ExitStack() as undo:
            try:
                url = _service(
                    cell,
                    undo,
                    caller=caller,
                    cell_dir=cell_dir,
                    run_id=run_id,
                    timeout=chosen.start_timeout,
                    say=out,
                    check=interrupts.check,
                )
                built = environment.build(
                    cell=cell,
                    options=chosen,
                    project=project,
                    run_id=run_id,
                    cell_dir=cell_dir,
                    caller=caller,
                    base_url=None,
                    service_url=url,
                )
                settings = Settings.from_json(built.tests[VARIABLE])
                where = process.free_places(wiring.with_own_address(cell), main=port)
                running = process.running(
                    settings,
                    where,
                    environment=built.tests,
                    cell_dir=cell_dir,
                    log=cell_dir / process.LOG,
                    say=out,
                    check=interrupts.check,
                )
                edge = undo.enter_context(running)
                for line in _told(settings, where):
                    out(line)
                if settings.mode.calls_out:
                    spending.of_cell(cell_dir, chosen).begin()
                shown = _Shown(edge.log, out)
                while interrupts.first is None:
                    edge.require()
                    shown.look()
                    time.sleep(_STEP)
            except Interrupted:
                pass
        if settings is not None:
            for line in _ended(cell_dir, settings):
                out(line)
            if settings.mode.calls_out:
                for line in calls_told.spent(spending.write(cell_dir, chosen)):
                    out(line)
    finally:
        run_folder.release(run_dir)
        run_folder.prune(run_dir.parent)
    return ExitCode.PASS


def _planned(
    given: Mapping[str, object], project: Path, caller: Mapping[str, str]
) -> tuple[plan.Cell, options.RunOptions, str, Path]:
    known = catalog.load(project)
    stack = StackSpec(
        name=_NAME,
        description="whatever calls the edge",
        folder=project,
        modes=(StackMode.SERVER,),
        command=("-",),
        under_exec=False,
        recorder=RecorderPlace.EDGE,
        source=project,
    )
    chosen = options.resolve({**given, "stack_config": f"server:{_NAME}"}, caller, project)
    chosen = replace(chosen, program="stackproof edge")
    known = replace(known, stacks={**known.stacks, _NAME: stack})
    run_id = rundir.new_run_id(project)
    planned = plan.make(chosen, known, project, run_id, caller=caller)
    return planned.cells[0], chosen, run_id, planned.run_dir


def _service(
    cell: plan.Cell,
    undo: ExitStack,
    *,
    caller: Mapping[str, str],
    cell_dir: Path,
    run_id: str,
    timeout: float | None,
    say: Callable[[str], None],
    check: Callable[[], None],
) -> str | None:
    """The URL of the setup's provider service, started where calls may go out; None where it has none."""
    if cell.service is None or cell.inference_mode is Mode.REPLAY:
        return None
    running = service.run(
        cell.service,
        environment=caller,
        cell_dir=cell_dir,
        run_id=run_id,
        timeout=timeout,
        say=say,
        check=check,
    )
    return undo.enter_context(running).url


def _told(settings: Settings, where: Places) -> Iterator[str]:
    named = {provider.name: provider for provider in settings.providers if provider.variable}
    there = wiring.urls(settings.providers, where)
    yield f"edge ready at {where.url}, {_doing(settings)}; Ctrl-C ends it"
    yield "variables for the stack:" if named else "the setup names no variable with a provider's URL"
    yield from (f"  {provider.variable}={there[name]}" for name, provider in named.items())
    others = [name for name in there if name not in named]
    yield f"by prefix, {where.url}/NAME: {', '.join(others)}"
    yield f"ids: {settings.header} or W3C baggage on provider calls; a call without one belongs to the stack"


def _doing(settings: Settings) -> str:
    folder = os.path.relpath(Path(settings.recordings, settings.setup))
    match settings.mode:
        case Mode.REPLAY:
            return f"replays from {folder}"
        case Mode.RECORD | Mode.RECORD_IF_MISSING:
            return f"records ({settings.mode.value}) into {folder}"
        case Mode.VERIFY:
            return f"hands calls on and keeps what comes back in this run, {folder} as it is"
        case Mode.LIVE:
            return "hands calls on and records nothing"


class _Shown:
    """What the edge writes into its log, for the person in front of it."""

    def __init__(self, log: Path | None, out: Callable[[str], None]) -> None:
        self._log, self._out, self._read = log, out, 0

    def look(self) -> None:
        """Print what is new."""
        if self._log is None:
            return
        with self._log.open("rb") as file:
            file.seek(self._read)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.decode(errors="replace").splitlines():
            self._out(line)


def _ended(cell_dir: Path, settings: Settings) -> Iterator[str]:
    calls = [line for line in jsonfile.lines(cell_dir / "calls.jsonl") if line is not None]
    facts = Counter(str(call["kind"]) for call in calls)
    facts["retries"] = sum(call.get("retry") is True for call in calls)
    yield f"provider calls: {calls_told.counted(facts, settings.mode, unused=False)} ({settings.mode.value})"
    if settings.mode.records:
        yield f"recordings: {_keep(cell_dir, settings)} files written"


def _keep(cell_dir: Path, settings: Settings) -> int:
    """Move what was recorded into place; how many files that changed. No test has judged it, so nothing is removed."""
    brain = Brain(settings, {})
    owners: dict[str, Scope] = {}
    for path in (cell_dir / "staged").rglob("*.json"):
        content = recording.read(str(path))
        if content is not None:
            owners.setdefault(str(content["scope"]), Scope(name=str(content["scope"])))
    written = 0
    try:
        for owner in owners.values():
            written += brain.store.promote(owner, replace=settings.mode is Mode.RECORD, prune=False)[0]
        return written + brain.store.promote_models()
    finally:
        brain.ledger.close()
