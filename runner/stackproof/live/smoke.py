"""`stackproof smoke`: a few real calls of each model that is asked for, within a budget, and what came of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import IO, cast

from rich.console import Console

from stackproof import catalog, console
from stackproof.catalog.records import ModelRole
from stackproof.ci import guard, log
from stackproof.errors import ExitCode
from stackproof.evidence import jsonfile
from stackproof.evidence.live import RESULT, LiveOutcome
from stackproof.live import fork, planning, preflight, results, scrub, summary, told, written
from stackproof.live.budgets import Spent
from stackproof.live.choosing import choose
from stackproof.live.opt_in import VARIABLE, LiveModel
from stackproof.live.order import SmokeOrder
from stackproof.live.results import ModelResult
from stackproof.live.work import Work
from stackproof.parts import code_of
from stackproof.recorder import redact
from stackproof.run import orchestrate, run_folder
from stackproof.run.interrupts import Interrupted, Interrupts
from stackproof.run.judge import worst
from stackproof.run.rundir import new_run_id
from stackproof.run.steps import alive
from stackproof.verdict import github, noted

_SIGNALS = (ExitCode.SIGINT, ExitCode.SIGTERM)


def run(project: Path, order: SmokeOrder, *, environ: Mapping[str, str], today: date) -> int:
    """Run the smoke into a run folder, print what came of it, and write `checks/live.json`; its exit code.

    With `as_json` nothing is shown, and the content of `checks/live.json` is printed at the end. UsageError when
    STACKPROOF_LIVE_MODEL, a setup, a stack or the suite is written wrong: nothing is called then. For the main thread
    only, as `orchestrate.execute` is.
    """
    known = catalog.load(project)
    planning.suite_of(order, known)
    served = order.provider_service is not None
    choice = choose(order.setups, environ, known, served=served, because=fork.told(environ))
    secrets = redact.known_values((name for each in choice.setups for name in each.setup.all_secrets), environ)
    out = console.make(cast("IO[str]", scrub.Concealing(sys.stdout, secrets)), environ)
    work = Work(
        project=project,
        order=order,
        environ=environ,
        known=known,
        choice=choice,
        secrets=secrets,
        run_id=new_run_id(project),
        shown=Console(quiet=True) if order.as_json else out,
        spent=Spent(limits=order.budget),
    )
    # All of them, so that what is written wrong is said before anything is called.
    plans = [work.plan(each) for each in choice.setups]
    run_dir = plans[0].run_dir
    with log.fenced(environ, quiet=order.as_json) as folds, Interrupts() as interrupts:
        work.log = folds
        work.say_all(told.head(order, choice, plans[0], today))
        run_folder.make(run_dir)
        try:
            smoke, stopped = _carried_out(work, run_dir, interrupts)
        finally:
            run_folder.release(run_dir)
        stopped = stopped or code_of(interrupts)
    if order.as_json:
        content = jsonfile.read(run_dir / RESULT)
        console.out(scrub.text(json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False), secrets))
    elif github.is_wanted(environ):
        for note in summary.notes(smoke, noted.failed(run_dir, secrets)):
            guard.command(note.command())
    codes = results.exit_codes(work.results, work.cells, require=order.require)
    return int(worst(codes) if stopped is None else stopped)


def _carried_out(work: Work, run_dir: Path, interrupts: Interrupts) -> tuple[written.Smoke, ExitCode | None]:
    """All steps, and what they leave; the signal that ended them, None when none did."""
    started = _now()
    stopped: ExitCode | None = None
    try:
        _skip(work)
        stopped = _cells(work, _preflight(work, interrupts))
    except Interrupted as interrupted:
        stopped = ExitCode(128 + interrupted.signum)
    finally:
        scrub.folder(run_dir, work.secrets)
    if stopped is not None:
        said = {(result.setup, result.title) for result in work.results}
        for model in work.choice.models:
            if (model.setup, model.title) not in said:
                work.not_run(model, LiveOutcome.STOPPED, f"stopped by {stopped.name} before its tests")
    smoke = written.Smoke(
        run_id=work.run_id,
        run_dir=run_dir,
        project=work.project,
        started=started,
        stopped=_now(),
        outcome=results.worst((each.outcome for each in work.results), require=work.order.require),
        results=work.in_order,
        spent=work.spent,
        asked=work.asked,
        suite=work.order.suite,
        arguments=tuple(scrub.text(each, work.secrets) for each in work.order.pytest_args),
    )
    written.write(smoke, work.cells)
    _show(work, smoke)
    return smoke, stopped


def _skip(work: Work) -> None:
    """Say of every test that makes no call why it does not."""
    missing = work.choice.missing
    if missing and not work.order.as_json:
        with alive("tests are collected", work.shown):
            tests = planning.tests_of(work.order, missing[0].setup, work.known, work.project, environ=work.environ)
        work.say_all(told.skipped(missing, tests, work.order.suite))
    work.note(
        ModelResult(
            title=each.title or each.provider, setup=each.setup, outcome=LiveOutcome.SKIPPED, reason=each.reason
        )
        for each in missing
    )


def _preflight(work: Work, interrupts: Interrupts) -> list[LiveModel]:
    """Ask the providers; the models whose tests are worth a try."""
    models = work.choice.models
    if work.order.provider_service is not None:
        # What this run starts takes any key, and says by itself when it is ready.
        return list(models)
    allowance = preflight.Allowance(work.order.budget.max_requests)
    try:
        with alive("the providers are asked", work.shown):
            inquiries = preflight.check(
                models, work.known, environ=work.environ, allowance=allowance, interrupted=interrupts.check
            )
    except Interrupted:
        # What has gone out was spent, though nobody waits for its answer.
        work.asked += allowance.taken
        work.spent = work.spent.plus(requests=allowance.taken, tokens=0)
        raise
    findings = {}
    for asked in inquiries:
        work.asked += asked.requests
        work.spent = work.spent.plus(requests=asked.requests, tokens=sum(asked.tokens))
        work.say_all(told.preflight(asked))
        findings.update({(asked.setup, title): finding for title, finding in asked.findings.items()})
    blocked = [model for model in models if not findings[model.setup, model.title].fine]
    for model in blocked:
        work.not_run(model, LiveOutcome.BLOCKED, findings[model.setup, model.title].sentence)
    return [model for model in models if model not in blocked]


def _cells(work: Work, ready: list[LiveModel]) -> ExitCode | None:
    """Run the tests of each setup; the signal that ended it, None when none did."""
    for each in work.choice.setups:
        models = [model for model in ready if model.setup == each.setup.name]
        if not models:
            continue
        work.spent = work.spent.exhausted()
        if work.spent.ended_by is not None:
            for model in models:
                work.not_run(model, LiveOutcome.STOPPED, work.spent.sentence)
            continue
        narrowed = {**work.environ, VARIABLE: ",".join(model.title for model in models)}
        for one in work.plans(each):
            ran = orchestrate.execute(one, console=work.shown, environ=narrowed, keep_going=True, log=work.log)
            for cell in ran.cells:
                # At once, and not only at the end: others may take long, and be killed.
                scrub.folder(cell.cell_dir, work.secrets)
                work.cells.append(cell)
                work.spent = work.spent.with_cell(cell.cell_dir)
                work.note(results.of_cell(models, cell, work.spent))
            if ran.exit_code in _SIGNALS:
                return ran.exit_code
    return None


def _show(work: Work, smoke: written.Smoke) -> None:
    setups = {each.setup.name: each.setup for each in work.choice.setups}
    usual = [setup.models[ModelRole.TEXT] for setup in setups.values() if ModelRole.TEXT in setup.models]
    named = dict.fromkeys(model.title for model in work.choice.models)
    models = ",".join(named) or work.environ.get(VARIABLE, "").strip(" ,") or ",".join(usual)
    again = planning.again(work.order, setups, models, work.project)
    again = scrub.text(again, work.secrets)
    summary.append(smoke, again, work.environ)
    if smoke.outcome is not LiveOutcome.SKIPPED:
        work.say_all(told.table(smoke.results))
        work.say(f"evidence {told.short(smoke.run_dir, work.project)}")
    for name in dict.fromkeys(each.setup for each in work.choice.missing):
        if (service := setups[name].service) is not None:
            work.say(f"a provider of setup {name} runs on this machine, too: --provider-service {service}")
    if smoke.outcome is not LiveOutcome.PASSED:
        work.say(f"again: {again}")
    work.say(told.last(smoke, work.order))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
