"""Get at the stack from inside pytest: the one that the run has started, or one of our own when pytest runs alone."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from stackproof import catalog, environment, options, plan
from stackproof.catalog.records import StackMode
from stackproof.edge import stack_edge
from stackproof.recorder import scope
from stackproof.recorder.settings import VARIABLE, Settings
from stackproof.run import cell_file, made_first, rundir, writable
from stackproof.stack import interpreter, ourselves, ports, service, start
from stackproof.stack.handle import StackHandle


@dataclass(frozen=True, kw_only=True, slots=True)
class Opened:
    """A cell as this process sees it. `open_stack` starts the stack at the first call, `undo` ends what was started.

    `plain`: it is a library that tests import, so it has to be open before them. `alone`: pytest was called without a
    run around it. `variables` are what it has to set for its tests then.
    """

    settings: Settings
    cell_dir: Path
    open_stack: Callable[[], StackHandle]
    plain: bool
    undo: ExitStack
    alone: bool
    variables: Mapping[str, str]


ALONE = "STACKPROOF_ALONE"
"""Set for workers of xdist: the run that they belong to is a pytest that was called alone."""


def within_run(environ: Mapping[str, str]) -> Opened:
    """The cell that this process (or the one that started it) was told to run by its environment."""
    settings = Settings.from_json(environ[VARIABLE])
    cell_dir = Path(settings.run_dir)
    undo = ExitStack()
    find = functools.cache(lambda: _cell_of(cell_dir, environ))

    def open_stack() -> StackHandle:
        cell = find()
        if cell.mode in (StackMode.LIBRARY, StackMode.DOCKER_LIBRARY):
            with scope.within_stack():
                return undo.enter_context(
                    start.start(cell=cell, environment=dict(os.environ), cell_dir=cell_dir, timeout=None, port=None)
                )
        return StackHandle(
            name=cell.stack.name,
            mode=cell.mode,
            base_url=environ["STACKPROOF_API_BASE_URL"],
            log=cell_dir / "stack.log",
        )

    return Opened(
        settings=settings,
        cell_dir=cell_dir,
        open_stack=_once(open_stack),
        plain=settings.stack_type == StackMode.LIBRARY.stack_type and _is_plain(find()),
        undo=undo,
        alone=environ.get(ALONE) == settings.run_id,
        variables={},
    )


def in_this_process(project: Path, environ: Mapping[str, str]) -> bool:
    """Whether the stack of `alone` would be one in the process of its tests. Raises StackproofError."""
    known = catalog.load(project)
    if not known.suites:
        return False  # said once there are tests that need one: others may be all that is wanted
    chosen = options.resolve({}, environ, project)
    planned = plan.make(chosen, known, project, "000000", caller=environ)
    return planned.cells[0].mode is StackMode.LIBRARY


def alone(project: Path, environ: Mapping[str, str], workers: str | None) -> Opened:
    """A cell of our own, from the options that environment and pyproject.toml give. Raises StackproofError.

    A server starts at once, so that its address can be handed to the tests; workers of xdist find it there.
    """
    chosen = options.resolve({"workers": workers} if workers else {}, environ, project)
    run_id = rundir.new_run_id(project)
    planned = plan.make(chosen, catalog.load(project), project, run_id, caller=environ)
    cell = made_first.placed(planned.cells[0], environ)
    if cell.inference_mode.records:
        writable.require(project / chosen.recording_dir, cell.setup.name)
    if cell.mode is StackMode.LIBRARY:
        interpreter.require_this(cell.stack)
        python = None
    else:
        python = interpreter.choose(cell.stack, cell.mode, environment=environ, say=print, check=_never)
    cell_dir = planned.run_dir / "cells" / cell.id
    cell_dir.mkdir(parents=True)
    cell_file.write(
        cell_dir,
        cell_file.CellOrder(run_id=run_id, cell_id=cell.id, project=project, orchestrator=os.getpid(), options=chosen),
    )
    undo = ExitStack()
    service_url = None
    if cell.service is not None:
        running = undo.enter_context(
            service.run(
                cell.service,
                environment=environ,
                cell_dir=cell_dir,
                run_id=run_id,
                timeout=None,
                say=print,
                check=_never,
            )
        )
        service_url = running.url
    port = ports.free_port() if cell.mode is StackMode.SERVER else None
    edge = stack_edge.places(cell) if cell.mode is StackMode.SERVER else None
    built = environment.build(
        cell=cell,
        options=chosen,
        project=project,
        run_id=run_id,
        cell_dir=cell_dir,
        caller=environ,
        base_url=start.base_url(cell.stack, cell.mode, port),
        service_url=service_url,
        edge=edge,
    )
    if edge is not None:
        stack_edge.start(edge, undo, variables=built.tests, cell_dir=cell_dir, say=print, check=_never)

    def open_stack() -> StackHandle:
        with scope.within_stack():
            return undo.enter_context(
                start.start(
                    cell=cell,
                    environment=ourselves.variables(built.stack, python),
                    cell_dir=cell_dir,
                    timeout=None,
                    port=port,
                    python=python,
                )
            )

    opener = _once(open_stack)
    if cell.mode is not StackMode.LIBRARY:
        handle = opener()
        if edge is not None:
            stack_edge.find_ids(
                cell,
                edge,
                base_url=handle.base_url,
                variables=built.tests,
                cell_dir=cell_dir,
                workers=chosen.workers,
                check=_never,
            )
    return Opened(
        settings=Settings.from_json(built.tests[VARIABLE]),
        cell_dir=cell_dir,
        open_stack=opener,
        plain=_is_plain(cell),
        undo=undo,
        alone=True,
        variables={**built.tests, ALONE: run_id},
    )


def _cell_of(cell_dir: Path, environ: Mapping[str, str]) -> plan.Cell:
    order = cell_file.read(cell_dir, environ)
    planned = plan.make(order.options, catalog.load(order.project), order.project, order.run_id, caller=environ)
    return next(cell for cell in planned.cells if cell.id == order.cell_id)


def _is_plain(cell: plan.Cell) -> bool:
    """Whether tests import it themselves, before any of them could ask for it: its `python_path` has to be there."""
    return cell.mode is StackMode.LIBRARY and cell.stack.app is None


def _never() -> None:
    return


def _once(make: Callable[[], StackHandle]) -> Callable[[], StackHandle]:
    made: list[StackHandle] = []

    def get() -> StackHandle:
        if not made:
            made.append(make())
        return made[0]

    return get
