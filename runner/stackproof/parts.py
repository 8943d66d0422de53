"""What a release is made of, and a lane has a part of: cells in replay and checks, all in one run folder."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from stackproof import catalog, options, plan, plan_text
from stackproof.checks import benchmark, claims, typecheck
from stackproof.checks import recordings as recordings_check
from stackproof.errors import ExitCode, UsageError
from stackproof.evidence import digests, git, jsonfile, manifest, recordings
from stackproof.evidence import steps as step_times
from stackproof.lanes.records import Check
from stackproof.measure import begin
from stackproof.plan import RUNS, Plan
from stackproof.recorder import redact
from stackproof.recorder.mode import Mode
from stackproof.run import beside, run_folder
from stackproof.run import orchestrate as run
from stackproof.run.interrupts import Interrupts, Thrown
from stackproof.run.steps import Steps, Telling, last
from stackproof.verdict import accepted, freshness, summary
from stackproof.verdict.policy_records import CellPolicy, Policy
from stackproof.verdict.weigh import recording_dir

_SIGNALS = (ExitCode.SIGINT, ExitCode.SIGTERM)


@dataclass(frozen=True, kw_only=True, slots=True)
class Parts:
    """rules: what the checks ask for; None where there is neither a policy nor a check. plans: one for each suite and
    setup, all of them into the folder of `run_id`. kind: what `plan.json` calls the whole. at_once: cells that may run
    side by side, where none of them records; checks never do. facts: what else `plan.json` says of the whole.
    """

    project: Path
    run_id: str
    rules: Policy | None
    plans: tuple[Plan, ...]
    checks: tuple[Check, ...]
    kind: str
    at_once: int = 1
    facts: Mapping[str, object] = field(default_factory=dict)

    @property
    def run_dir(self) -> Path:
        """The folder of the run, absolute."""
        return self.project.absolute() / RUNS / self.run_id

    @property
    def names(self) -> list[str]:
        """Every step, in the order in which it comes."""
        return [*(cell.title for each in self.plans for cell in each.cells), *(check.value for check in self.checks)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    """What became of it. stopped: the code of the signal that ended it, None when none did. codes: exit codes by the
    ids of cells, and by the names of checks that leave no evidence.
    """

    stopped: ExitCode | None
    codes: Mapping[str, ExitCode] = field(default_factory=dict)


def plans(
    cells: Sequence[CellPolicy],
    project: Path,
    run_id: str,
    environ: Mapping[str, str],
    given: Mapping[str, object] | None = None,
) -> tuple[Plan, ...]:
    """One plan for each suite and setup, over all its stacks. given: options of all of them, besides those.

    UsageError when something that a cell names does not exist.
    """
    known = catalog.load(project)
    made = []
    for suite, setup in dict.fromkeys((cell.suite, cell.setup) for cell in cells):
        stacks = [cell.stack for cell in cells if (cell.suite, cell.setup) == (suite, setup)]
        chosen = {"suite": suite, "setup": setup, "stack_config": ",".join(stacks)}
        resolved = options.resolve({"inference_mode": Mode.REPLAY.value, **(given or {}), **chosen}, environ, project)
        if resolved.inject:
            raise UsageError(
                f"{resolved.origin('inject')}: a release is not verified with injected faults",
                hint="take them away, or use `stackproof run` for a run with faults",
            )
        made.append(plan.make(resolved, known, project, run_id, caller=environ))
    return tuple(made)


def carry_out(parts: Parts, environ: Mapping[str, str], telling: Telling) -> Ran:
    """Run every cell, then every check, and write the manifest over what they left.

    A signal ends it; what there is then is kept. For the main thread only.
    """
    codes: dict[str, ExitCode] = {}
    if not parts.plans:
        run_folder.make(parts.run_dir)
        run_folder.prune(parts.run_dir.parent)
    try:
        with Thrown() as thrown:
            try:
                stopped = _cells(parts, environ, telling, codes)
                if stopped is None:
                    stopped = _checks(parts, environ, telling, codes)
            except KeyboardInterrupt:
                stopped = code_of(thrown)
        telling.steps.end()
        step_times.write(parts.run_dir, telling.steps.took)
        manifest.write(parts.run_dir, run_id=parts.run_id, project=parts.project)
    finally:
        run_folder.release(parts.run_dir)
    return Ran(stopped=stopped, codes=codes)


def steps_of(parts: Parts) -> Steps:
    """The steps, with what each took the last time."""
    return Steps(names=parts.names, before=last(parts.run_dir))


def code_of(interrupts: Interrupts) -> ExitCode | None:
    """The exit code of the first signal, None where there was none."""
    return None if interrupts.first is None else _code(interrupts.first)


def _code(signum: signal.Signals) -> ExitCode:
    return ExitCode.SIGINT if signum is signal.SIGINT else ExitCode.SIGTERM


def secrets_of(rules: Policy, project: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """What no output may show, by the name of its variable: the secrets of the setups that the policy asks for."""
    smoked = rules.live.setups if rules.live is not None else ()
    return secrets_of_setups({*(cell.setup for cell in rules.cells), *smoked}, project, environ)


def secrets_of_setups(setups: set[str], project: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """The same, of these setups."""
    known = catalog.load(project)
    return redact.known_values({name for setup in setups for name in known.setup(setup).all_secrets}, environ)


def _cells(parts: Parts, environ: Mapping[str, str], telling: Telling, codes: dict[str, ExitCode]) -> ExitCode | None:
    """Run every cell; the signal that ended it, None when none did."""
    if parts.plans and parts.at_once > 1 and all(_may_share(each) for each in parts.plans):
        return _beside(parts, environ, telling, codes)
    planned: list[Any] = []
    for each in parts.plans:
        outcome = run.execute(
            each, console=telling.console, environ=environ, keep_going=True, steps=telling.steps, log=telling.log
        )
        codes |= {ended.cell.id: ended.exit_code for ended in outcome.cells}
        planned += (jsonfile.read(parts.run_dir / "plan.json") or {}).get("cells", [])
        if outcome.exit_code in _SIGNALS:
            return outcome.exit_code
    _write_plan(parts, planned)
    return None


def _beside(parts: Parts, environ: Mapping[str, str], telling: Telling, codes: dict[str, ExitCode]) -> ExitCode | None:
    """The same, with several cells at a time."""
    _write_plan(parts, plan_text.cells(*parts.plans))
    ended = beside.execute(
        parts.plans, at_once=parts.at_once, console=telling.console, environ=environ, steps=telling.steps
    )
    codes |= {each.cell.id: each.exit_code for each in ended.outcomes}
    return None if ended.signal is None else _code(ended.signal)


def _may_share(plan: Plan) -> bool:
    """Whether the cells of a plan change nothing that others read: recordings, or numbers of covered lines."""
    return plan.options.mode is Mode.REPLAY and not begin.wanted(plan.options)


def _write_plan(parts: Parts, cells: Sequence[object]) -> None:
    content = {"schema": 1, "kind": parts.kind, "run_id": parts.run_id, **parts.facts, "cells": cells}
    jsonfile.write(parts.run_dir / "plan.json", content)


def _checks(parts: Parts, environ: Mapping[str, str], telling: Telling, codes: dict[str, ExitCode]) -> ExitCode | None:
    """Everything beside the cells; the signal that ended it, None when none did. What is quick to fail comes first."""
    rules = parts.rules
    if rules is not None and rules.claims is not None and Check.CLAIMS in parts.checks:
        with telling.step(Check.CLAIMS), Interrupts() as interrupts:
            facts = claims.check(parts.project, rules.claims, parts.run_dir, environ=environ, interrupts=interrupts)
        for line in claims.summary(rules.claims, facts, environ):
            telling.say(line)
        if interrupts.first is not None:
            return code_of(interrupts)
    if rules is not None:
        for line in _checked(parts, rules, environ, telling):
            telling.say(line)
    if Check.FRESHNESS in parts.checks:
        codes[Check.FRESHNESS] = _freshness(parts, environ, telling)
    return None


def _freshness(parts: Parts, environ: Mapping[str, str], telling: Telling) -> ExitCode:
    wanted = freshness.asked_for(parts.project, (), None)
    with telling.step(Check.FRESHNESS):
        found = freshness.look(parts.project, wanted, environ=environ, today=datetime.now(UTC).date())
    secrets = secrets_of_setups(set(wanted.setups), parts.project, environ)
    summary.append(environ, lambda room: redact.conceal(freshness.to_markdown(found, room), secrets))
    for line in redact.conceal(list(freshness.lines(found)), secrets):
        telling.say(line)
    return found.exit_code


def _checked(parts: Parts, rules: Policy, environ: Mapping[str, str], telling: Telling) -> Iterator[str]:
    project, run_dir = parts.project, parts.run_dir
    if rules.typecheck is not None and Check.TYPES in parts.checks:
        with telling.step(Check.TYPES):
            types = typecheck.check(project, rules.typecheck.paths, run_dir)
        yield typecheck.line(types, accepted.beyond(types.errors, accepted.load(project)))
    if rules.benchmarks and Check.BENCHMARKS in parts.checks:
        gates = {each.name: each.gate for each in rules.benchmarks}
        with telling.step(Check.BENCHMARKS):
            measured = benchmark.measure(project, run_dir, names=gates)
        yield from benchmark.lines(measured, gates)
    if Check.RECORDINGS in parts.checks:
        with telling.step(Check.RECORDINGS):
            found = recordings_check.check(
                recording_dir(project, environ),
                {cell.setup for cell in rules.cells},
                integration_root=catalog.load(project).integration_root,
                asked=rules.recordings,
                values=secrets_of(rules, project, environ),
                now=datetime.now(UTC),
            )
        facts = replace(found, commit=git.state(project).commit, policy=digests.policy(project))
        jsonfile.write(run_dir / "checks/recordings.json", recordings.to_json(facts))
