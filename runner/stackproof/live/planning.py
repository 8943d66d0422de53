"""From a setup of a smoke to the plan of a run: the same cells that `stackproof run` would make, in mode `verify`."""

from __future__ import annotations

import shlex
import shutil
import signal
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from stackproof import nox_sessions, options, plan
from stackproof.catalog.records import Catalog, SuiteSpec
from stackproof.errors import ExitCode, UsageError
from stackproof.evidence import testlog
from stackproof.live.budgets import as_options
from stackproof.live.opt_in import VARIABLE
from stackproof.live.order import SUITE, Limits, SmokeOrder
from stackproof.options import RunOptions, Source
from stackproof.plaintext import number
from stackproof.plan import Plan
from stackproof.recorder.mode import Mode
from stackproof.run import orchestrate, suite
from stackproof.run.interrupts import Interrupted
from stackproof.run.rundir import new_run_id

_STACK = "library:reference"
# An SDK alone would wait ten minutes for a provider that has stopped answering, and try again.
TIMEOUT = 180.0  # seconds for a test


def suite_of(order: SmokeOrder, known: Catalog) -> SuiteSpec:
    """The suite whose tests make the calls; UsageError where the project has none of that name."""
    if order.suite not in known.suites and order.suite == SUITE:
        raise UsageError(
            f"this project has no suite {SUITE!r} in tests/suites.yaml, so there are no tests that make real calls",
            hint="write one there, or name another with --suite NAME; the least that it says:\n"
            f"  {SUITE}: {{description: real calls, roots: [tests/live], default_setup: SETUP}}",
        )
    return known.suite(order.suite, where="--suite")


def planned(
    order: SmokeOrder,
    setup: str,
    known: Catalog,
    project: Path,
    run_id: str,
    *,
    environ: Mapping[str, str],
    left: Limits,
) -> Plan:
    """The cell of one setup, or one for each of several stacks. left: what of the budget it may use.

    UsageError for what cannot be: an unknown stack, no such tests, arguments that would have pytest print past the
    masking of secrets.
    """
    chosen = _options(order, setup, environ, project, {"inference_mode": Mode.VERIFY.value, **as_options(left)})
    if suite.talks(chosen):
        raise UsageError(
            "pytest arguments: a smoke takes secrets out of what it prints, and -s, --pdb and --trace print past it",
            hint="leave them out, or run one test without a smoke: stackproof run --inference-mode verify",
        )
    return plan.make(chosen, known, project, run_id, caller=environ)


def tests_of(
    order: SmokeOrder, setup: str, known: Catalog, project: Path, *, environ: Mapping[str, str]
) -> tuple[str, ...]:
    """Node ids of the tests that would have made calls: collected, none is run. Empty where they cannot be collected.

    The run folder of that is taken away again. Interrupted when somebody asks to stop meanwhile.
    """
    # As JSON, since pytest would print its list otherwise.
    given = {"inference_mode": Mode.REPLAY.value, "collect_only": True, "json": True}
    chosen = _options(order, setup, environ, project, given)
    run = plan.make(chosen, known, project, new_run_id(project), caller=environ)
    try:
        ran = orchestrate.execute(run, console=Console(quiet=True), environ=environ)
        if ran.exit_code in (ExitCode.SIGINT, ExitCode.SIGTERM):
            raise Interrupted(signal.Signals(ran.exit_code - 128))
        logs = [testlog.read(cell.cell_dir / "tests.jsonl") for cell in ran.cells[:1]]
        return tuple(nodeid for log in logs for nodeid in log.collected or ())
    finally:
        shutil.rmtree(run.run_dir, ignore_errors=True)


def _options(
    order: SmokeOrder, setup: str, environ: Mapping[str, str], project: Path, more: Mapping[str, object]
) -> RunOptions:
    given: dict[str, object] = {
        "suite": order.suite,
        "setup": setup,
        "stack_config": order.stack_config,
        "provider_service": order.provider_service,
        "test_timeout": order.timeout,
        "strict": order.strict or None,
        # pytest at the terminal would print past the masking.
        "verbose": False,
        "pytest_args": order.pytest_args,
        **more,
    }
    usual = options.resolve({}, environ, project).sources["stack_config"]
    if order.stack_config is None and usual is Source.DEFAULT:
        given["stack_config"] = _STACK
    chosen = options.resolve(given, environ, project)
    if chosen.test_timeout is not None:
        return chosen
    # As a default, which no command line repeats.
    return replace(chosen, test_timeout=TIMEOUT)


def again(order: SmokeOrder, setups: Iterable[str], models: str, project: Path) -> str:
    """The command line of this smoke, with the variable that names its models, and without any key."""
    usual = Limits()
    words = {
        "--setup": ",".join(setups),
        "--suite": order.suite if order.suite != SUITE else None,
        "--stack-config": order.stack_config,
        "--provider-service": order.provider_service,
        **{
            f"--{name.replace('_', '-')}": number(value) if value != getattr(usual, name) else None
            for name, value in as_options(order.budget).items()
        },
        "--timeout": None if order.timeout is None else number(order.timeout),
    }
    flags = [flag for flag, wanted in (("--require", order.require), ("--strict", order.strict)) if wanted]
    behind = ["--", *map(shlex.quote, order.pytest_args)] if order.pytest_args else []
    return " ".join(
        [
            f"{VARIABLE}={shlex.quote(models) if models else 'provider/model'}",
            "nox -s live_smoke --" if nox_sessions.has(project, "live_smoke") else "stackproof smoke",
            *(f"{flag} {shlex.quote(value)}" for flag, value in words.items() if value),
            *flags,
            *behind,
        ]
    )
