"""`python -m stackproof.run.cell CELL_DIR`: the process that owns the stack and the tests of one cell.

It is a process of its own so that it can live in a network namespace, and so that a Ctrl-C which hits everything at
once does not take the stack away from under the tests: it tears down in order, whatever happens to its parent.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stackproof import catalog, disk, environment, plan, secret_values
from stackproof.catalog.records import StackMode
from stackproof.catalog.runners import RunnerSpec
from stackproof.edge import stack_edge
from stackproof.errors import DiskError, ExitCode, StackproofError
from stackproof.evidence import jsonfile, testlog
from stackproof.evidence.coverage import STACK, TESTS
from stackproof.measure import begin, marks
from stackproof.plaintext import number
from stackproof.recorder.mode import Mode
from stackproof.run import (
    cell_file,
    covered,
    handing,
    last_calls,
    made_first,
    namespace,
    post_command,
    spending,
    suite,
    writable,
)
from stackproof.run.cell_log import CellLog
from stackproof.run.interrupts import Interrupted, Interrupts
from stackproof.stack import lifetime, ourselves, ports, service, start, tether, unknown_server
from stackproof.stack.handle import OVER, StackHandle
from stackproof.stack.stack_died import StackDiedError

if TYPE_CHECKING:
    from stackproof.stack.contained_tests import ContainedTests

OUTCOME = "outcome.json"


def main(arguments: list[str]) -> int:
    """Carry out the cell in the folder `arguments[0]`; 0 once its `outcome.json` is written."""
    cell_dir = Path(arguments[0])
    outcome: dict[str, Any] = {"exit_code": None, "error": None, "signal": None, "stack": {}, "sealed": "none"}
    outcome["started"] = _now()
    with Interrupts() as interrupts:
        try:
            _carry_out(cell_dir, outcome, interrupts)
        except Interrupted:
            pass  # its signal is written below, like one that came while the tests ran
        except StackproofError as error:
            outcome["error"] = start.error_facts(error)
        except Exception as error:  # noqa: BLE001
            # Whatever it is, the orchestrator has to learn that it was not the tests.
            told = disk.refusal(error, near=cell_dir) if isinstance(error, OSError) else None
            if told is None:
                traceback.print_exc()
            outcome["error"] = start.error_facts(told or StackproofError(f"{type(error).__name__}: {error}"))
        lifetime.end_descendants()
        if interrupts.first is not None and outcome["signal"] is None:
            outcome["signal"] = interrupts.first.name
        outcome["stopped"] = _now()
        jsonfile.write(cell_dir / OUTCOME, outcome)
    return 0


@dataclass(frozen=True, kw_only=True, slots=True)
class _Work:
    """What every step of a cell needs; `outcome` is filled in on the way. cells: all of the run, in their order."""

    cell_dir: Path
    order: cell_file.CellOrder
    cell: plan.Cell
    cells: tuple[plan.Cell, ...]
    caller: Mapping[str, str]
    outcome: dict[str, Any]
    interrupts: Interrupts
    log: CellLog
    measuring: begin.Measuring


def _carry_out(cell_dir: Path, outcome: dict[str, Any], interrupts: Interrupts) -> None:
    caller = dict(os.environ)
    order = cell_file.read(cell_dir, caller)
    if not tether.tie(order.orchestrator):
        raise StackproofError("the process that ordered this cell is gone")
    lifetime.adopt_orphans()
    planned = plan.make(order.options, catalog.load(order.project), order.project, order.run_id, caller=caller)
    cell = made_first.placed(next(item for item in planned.cells if item.id == order.cell_id), caller)
    work = _Work(
        cell_dir=cell_dir,
        order=order,
        cell=cell,
        cells=planned.cells,
        caller=caller,
        outcome=outcome,
        interrupts=interrupts,
        log=CellLog(cell_dir),
        measuring=begin.prepare(cell, order.options, order.project, cell_dir),
    )
    sealed = work.cell.inference_mode is Mode.REPLAY and namespace.isolated()
    with ExitStack() as undo:
        if cell.inference_mode.calls_out and not order.options.collect_only:
            undo.callback(spending.write, cell_dir, order.options)
        started = _start(work, undo)
        if (unmeasured := marks.problem(cell, cell_dir, STACK)) is not None:
            raise unmeasured
        if order.options.tests:
            _tests(work, started)
        else:
            outcome["exit_code"] = 0
        shut = started.tests is not None and work.cell.inference_mode is Mode.REPLAY
        outcome["sealed"] = "namespace" if sealed or started.prefix or shut else _by_hook(work)
        if order.options.keep and interrupts.first is None and not order.options.collect_only:
            _keep(work, started)
        misses = sum(1 for _ in jsonfile.lines(cell_dir / "misses.jsonl"))
    if work.cell.mode is not StackMode.LIBRARY and not order.options.collect_only:
        last_calls.see_to(cell_dir, outcome, misses, called_out=work.cell.inference_mode.calls_out)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Started:
    """What the tests need of what was started. prefix: in front of their command, to shut them off by themselves.

    tests: where they run in a container. handle: the stack, where it is not in the process of its tests.
    """

    variables: Mapping[str, str]
    prefix: tuple[str, ...] = ()
    tests: ContainedTests | None = None
    handle: StackHandle | None = None


def _start(work: _Work, undo: ExitStack) -> _Started:
    """Start service and stack, both ended by `undo`."""
    cell, options = work.cell, work.order.options
    if cell.inference_mode.records and not options.collect_only:
        writable.require(work.order.project / options.recording_dir, cell.setup.name)
    service_url: str | None = None
    if cell.service is not None and cell.inference_mode is not Mode.REPLAY and not options.collect_only:
        running = undo.enter_context(
            service.run(
                cell.service,
                environment=work.caller,
                cell_dir=work.cell_dir,
                run_id=work.order.run_id,
                timeout=options.start_timeout,
                say=work.log.say,
                check=work.interrupts.check,
            )
        )
        service_url = running.url
        work.log.ready(running.name, running.url, running.started_in, running.log)
    port = ports.free_port() if cell.mode in (StackMode.SERVER, StackMode.DOCKER) else None
    edge = stack_edge.places(cell) if cell.mode is StackMode.SERVER and not options.collect_only else None
    build = partial(
        environment.build,
        cell=cell,
        options=options,
        project=work.order.project,
        run_id=work.order.run_id,
        cell_dir=work.cell_dir,
        caller=work.caller,
        base_url=start.base_url(cell.stack, cell.mode, port),
        service_url=service_url,
        edge=edge,
    )
    # A library stack is started by the pytest plugin: it lives in the process of the tests.
    if cell.mode is StackMode.LIBRARY or options.collect_only:
        return _Started(variables=work.measuring.into(_for_tests(work, build().tests), TESTS))
    if cell.mode.in_containers:
        from stackproof.run import contained  # noqa: PLC0415 - what speaks to an engine, most cells have no use for

        placed = contained.start(
            contained.Order(
                cell=cell,
                build=build,
                options=options,
                project=work.order.project,
                cell_dir=work.cell_dir,
                run_id=work.order.run_id,
                owner=work.order.orchestrator,
                caller=work.caller,
                say=work.log.say,
                check=work.interrupts.check,
                images=work.cell_dir.parents[1] / "images",
                handover=handing.of(cell, work.cells, work.cell_dir.parents[1]),
                measuring=work.measuring,
            ),
            undo,
        )
        if (handle := placed.handle) is None:
            return _Started(variables=placed.variables, tests=placed.tests)
        variables = _for_tests(work, placed.variables)
        started = _Started(variables=variables, prefix=placed.prefix, handle=handle)
    else:
        built = build()
        if edge is not None:
            running_edge = stack_edge.start(
                edge,
                undo,
                variables=built.tests,
                cell_dir=work.cell_dir,
                say=work.log.say,
                check=work.interrupts.check,
            )
            work.log.ready("edge", edge.url, running_edge.started_in, running_edge.log)
        handle = undo.enter_context(
            start.start(
                cell=cell,
                environment=work.measuring.into(ourselves.variables(built.stack, work.order.python), STACK),
                cell_dir=work.cell_dir,
                timeout=options.start_timeout,
                port=port,
                python=work.order.python,
                check=work.interrupts.check,
            )
        )
        started = _Started(variables=work.measuring.into(_for_tests(work, built.tests), TESTS), handle=handle)
    work.outcome["stack"] = {"base_url": handle.base_url, "ready_in": round(handle.started_in, 3)}
    work.log.ready(handle.name, handle.base_url, handle.started_in, handle.log)
    if edge is not None:
        found = stack_edge.find_ids(
            cell,
            edge,
            base_url=handle.base_url,
            variables=started.variables,
            cell_dir=work.cell_dir,
            workers=options.workers,
            check=work.interrupts.check,
        )
        work.log.say(str(found))
    elif cell.mode is StackMode.SERVER and (unseen := unknown_server.note(work.cell_dir / "marks")) is not None:
        work.log.say(unseen)
    return started


def _tests(work: _Work, started: _Started) -> None:
    variables = started.variables
    options, interrupts = work.order.options, work.interrupts
    runner = work.cell.suite.runner
    ended, broken = _pytest(work, started) if runner is None else _foreign(work, started, runner)
    if interrupts.first is not None:
        work.outcome["signal"] = interrupts.first.name
    elif unmeasured := marks.facts(work.cell, work.cell_dir, TESTS):
        work.outcome["error"] = unmeasured
    elif error := jsonfile.read(work.cell_dir / start.ERROR):
        work.outcome["error"] = error
    elif ended.code != 0 and (full := _full(work)) is not None:
        work.outcome["error"] = start.error_facts(full)
    elif ended.timed_out:
        log = testlog.read(work.cell_dir / "tests.jsonl")
        after = f"; the last test that ended was {log.last}" if log.last else "; no test had ended"
        if log.running:
            after = f" inside of {', '.join(log.running)}{after}"
        work.outcome["error"] = {
            "kind": "suite-timeout",
            "message": f"the suite took more than {number(options.suite_timeout)} s and was stopped{after}",
            "hint": "give it more with --suite-timeout SECONDS, or find the test that hangs with --verbose",
            "exit_code": int(ExitCode.TESTS),
        }
    elif broken is not None:
        work.outcome["error"] = broken
    elif options.post_command is not None and not options.collect_only:
        kept = work.cell_dir / "post-command.log"
        work.outcome["error"] = post_command.run(
            options.post_command, variables, project=work.order.project, log=kept, check=interrupts.check
        )


def _full(work: _Work) -> DiskError | None:
    """Why tests may have failed that were fine: what they leave, or their recordings, cannot be kept any more."""
    recordings = work.order.project / work.order.options.recording_dir
    keep = disk.promote(work.order.run_id)
    if not work.cell.inference_mode.records:
        return disk.probed(work.cell_dir)
    return disk.probed(work.cell_dir, keep=keep) or (
        disk.probed(recordings, keep=keep) if recordings.is_dir() else None
    )


def _for_tests(work: _Work, variables: Mapping[str, str]) -> dict[str, str]:
    """Variables of tests on this machine: their Python, where it is not ours, has to find the plugin."""
    foreign = work.cell.suite.runner is not None
    return ourselves.beside(variables, None if foreign else work.order.tests, work.cell_dir / "guest")


def _pytest(work: _Work, started: _Started) -> tuple[suite.SuiteEnd, None]:
    options = work.order.options
    arguments = suite.arguments(
        options,
        work.cell.paths,
        project=work.order.project,
        cell_dir=work.cell_dir,
        python=work.order.tests,
        warnings=work.cell.stack.warnings if work.cell.mode is StackMode.LIBRARY else (),
    )
    here = suite.process(
        [*started.prefix, *arguments],
        environment=started.variables,
        project=work.order.project,
        log=None if suite.talks(options) else work.cell_dir / "pytest.log",
    )
    ended = suite.run(
        started.tests or here,
        timeout=options.suite_timeout,
        interrupts=work.interrupts,
        meanwhile=partial(_end_early, work, started),
    )
    work.outcome["exit_code"] = ended.code
    return ended, None


def _end_early(work: _Work, started: _Started) -> None:
    """Have the stack end while pytest ends itself, once that has nothing more to do with it and nobody else has."""
    options = work.order.options
    needed = options.keep or options.post_command is not None
    if started.handle is not None and not needed and (work.cell_dir / OVER).exists():
        started.handle.end()


def _foreign(work: _Work, started: _Started, runner: RunnerSpec) -> tuple[suite.SuiteEnd, dict[str, Any] | None]:
    """Run the tests of another runner than pytest; how it ended, and what is wrong beside its tests."""
    from stackproof.run import foreign  # noqa: PLC0415 - pytest comes with it, and no cell waits for that at its start

    options = work.order.options
    hides = secret_values.may_be_told(work.cell.inference_mode)
    here = foreign.process(
        work.cell,
        runner,
        options,
        prefix=started.prefix,
        variables=started.variables,
        caller=work.caller,
        cell_dir=work.cell_dir,
        shown=suite.talks(options) and not hides,
    )
    if work.cell.inference_mode.calls_out:
        spending.of_cell(work.cell_dir, options).begin()  # no hook of ours sees its first test
    with covered.shown(
        work.cell_dir / foreign.LOG if hides and suite.talks(options) else None,
        secret_values.known(work.cell.setup.all_secrets, started.variables),
    ) as look:
        ended = suite.run(here, timeout=options.suite_timeout, interrupts=work.interrupts, meanwhile=look)
    stopped = ended.timed_out or work.interrupts.first is not None
    settled = foreign.settle(runner, ended, variables=started.variables, cell_dir=work.cell_dir, stopped=stopped)
    work.outcome["exit_code"] = settled.code
    return ended, settled.error


def _keep(work: _Work, started: _Started) -> None:
    """Leave the stack up until somebody asks us to stop; that request is not an interruption of the run.

    StackDiedError when it has ended by itself.
    """
    handle = started.handle
    if handle is None:
        work.log.say("a library stack lives in the process of its tests: there is nothing to keep")
        return
    work.log.keep(handle.base_url)
    while work.interrupts.first is None:
        if (how := handle.ended()) is not None:
            see = "" if handle.log is None else f"see {handle.log}"
            raise StackDiedError(f"{handle.name} {how} while it was kept", code=1, hint=see)
        time.sleep(0.1)
    work.interrupts.forget()


def _by_hook(work: _Work) -> str:
    calls = testlog.read(work.cell_dir / "tests.jsonl").calls or {}
    return "tripwire" if work.cell.inference_mode is Mode.REPLAY and calls.get("sealed_by_hook") is True else "none"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
