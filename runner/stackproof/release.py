"""`stackproof verify-release`: runs everything that the policy lists and gives one verdict."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from stackproof import catalog, console, options, plan
from stackproof.checks import benchmark, claims, typecheck
from stackproof.checks import recordings as recordings_check
from stackproof.errors import ExitCode, UsageError
from stackproof.evidence import digests, git, jsonfile, manifest, recordings
from stackproof.evidence import steps as step_times
from stackproof.plan import Plan
from stackproof.recorder import redact
from stackproof.recorder.mode import Mode
from stackproof.run import orchestrate as run
from stackproof.run.interrupts import Interrupts, Thrown
from stackproof.run.rundir import new_run_id
from stackproof.run.steps import Steps, Telling, last
from stackproof.verdict import accepted, compared, github, policy, publish, render, terminal
from stackproof.verdict.policy import Policy
from stackproof.verdict.records import Verdict
from stackproof.verdict.weigh import recording_dir, weigh

CLAIM = "--claim"
CLAIMS, TYPES, BENCHMARKS, RECORDINGS = "claims", "types", "benchmarks", "recordings"
_SIGNALS = (ExitCode.SIGINT, ExitCode.SIGTERM)


def main(project: Path, argv: Sequence[str]) -> int:
    """The command: `verify-release [--json]`, or `verify-release --claim NAME…`, which runs those alone."""
    if argv and argv[0] == CLAIM:
        names = [argument for argument in argv if argument != CLAIM]
        return claims.run(project, names, environ=os.environ)
    if unknown := [argument for argument in argv if argument != "--json"]:
        raise UsageError(
            f"stackproof verify-release does not know {unknown[0]!r}", hint=f"it takes --json, or {CLAIM} NAME"
        )
    return verify(project, environ=os.environ, today=datetime.now(UTC).date(), as_json="--json" in argv)


def verify(project: Path, *, environ: Mapping[str, str], today: date, as_json: bool = False) -> int:
    """Run cells, types and benchmarks into one run folder, weigh it, print and write the verdict; its exit code.

    UsageError when the policy, or something that it names, does not exist: then nothing is run. An interrupted run
    leaves a verdict over what there is, and ends with the code of the signal.
    """
    rules = policy.load(project)
    run_id = new_run_id(project)
    plans = _plans(rules, project, run_id, environ)
    run_dir = plans[0].run_dir
    # With --json nothing but the verdict is printed.
    shown = Console(quiet=True) if as_json else console.make(sys.stdout, environ)
    say = (lambda _: None) if as_json else console.out
    steps = Steps(names=_names(rules, plans), before=last(run_dir))
    # A signal that comes while the verdict is made does not take it away.
    with github.fenced(environ, say), Interrupts() as late:
        say(f"stackproof verify-release · run {run_id} · {len(steps.names)} steps")
        with Thrown() as thrown:
            try:
                stopped = _cells(plans, run_dir, environ, shown, steps)
                if stopped is None:
                    stopped = _checks(rules, project, run_dir, environ, Telling(console=shown, say=say, steps=steps))
            except KeyboardInterrupt:
                stopped = _code(thrown)
        steps.end()
        step_times.write(run_dir, steps.took)
        manifest.write(run_dir, run_id=run_id, project=project)
        weighed = weigh(project, run_dir, environ=environ, today=today)
        secrets = secrets_of(rules, project, environ)
        published = publish.write(run_dir, weighed, project=project, environ=environ, secrets=secrets, policy=rules)
        publish.summarise(published.verdict, environ)
        show(published.verdict, run_dir, project, as_json=as_json, page=publish.PAGE)
        if published.compared is not None:
            for line in redact.conceal(compared.lines(published.compared), secrets):
                say(line)
    for line in publish.annotated(published):
        say(line)
    stopped = stopped or _code(late)
    return int(weighed.exit_code if stopped is None else stopped)


def show(verdict: Verdict, run_dir: Path, project: Path, *, as_json: bool, page: str | None = None) -> None:
    """Print the verdict, as lines or as the content of `verdict.json`; page: its name, where one was written."""
    if as_json:
        console.out(json.dumps(render.to_json(verdict), indent=2, sort_keys=True, ensure_ascii=False))
        return
    absolute, root = run_dir.absolute(), project.absolute()
    shown = absolute.relative_to(root) if absolute.is_relative_to(root) else absolute
    for line in terminal.lines(verdict, shown.as_posix(), page):
        console.out(line)


def _plans(rules: Policy, project: Path, run_id: str, environ: Mapping[str, str]) -> list[Plan]:
    """One plan for each suite and setup, over all its stacks; all of them share the run folder."""
    known = catalog.load(project)
    plans = []
    for suite, setup in dict.fromkeys((cell.suite, cell.setup) for cell in rules.cells):
        stacks = [cell.stack for cell in rules.cells if (cell.suite, cell.setup) == (suite, setup)]
        given = {
            "suite": suite,
            "setup": setup,
            "stack_config": ",".join(stacks),
            "inference_mode": Mode.REPLAY.value,
        }
        resolved = options.resolve(given, environ, project)
        if resolved.inject:
            raise UsageError(
                f"{resolved.origin('inject')}: a release is not verified with injected faults",
                hint="take them away, or use stackproof run for a run with faults",
            )
        plans.append(plan.make(resolved, known, project, run_id, caller=environ))
    return plans


def _names(rules: Policy, plans: Sequence[Plan]) -> list[str]:
    """Every step, in the order in which it comes."""
    checks = {
        CLAIMS: rules.claims is not None,
        TYPES: rules.typecheck is not None,
        BENCHMARKS: bool(rules.benchmarks),
        RECORDINGS: True,
    }
    return [
        *(cell.title for each in plans for cell in each.cells),
        *(name for name, wanted in checks.items() if wanted),
    ]


def _cells(
    plans: Sequence[Plan], run_dir: Path, environ: Mapping[str, str], shown: Console, steps: Steps
) -> ExitCode | None:
    """Run every cell; the signal that ended it, None when none did."""
    planned: list[Any] = []
    for each in plans:
        outcome = run.execute(each, console=shown, environ=environ, keep_going=True, steps=steps)
        planned += (jsonfile.read(run_dir / "plan.json") or {}).get("cells", [])
        if outcome.exit_code in _SIGNALS:
            return outcome.exit_code
    jsonfile.write(run_dir / "plan.json", {"schema": 1, "kind": "release", "run_id": plans[0].run_id, "cells": planned})
    return None


def _checks(
    rules: Policy, project: Path, run_dir: Path, environ: Mapping[str, str], telling: Telling
) -> ExitCode | None:
    """Everything beside the cells; the signal that ended it, None when none did. What is quick to fail comes first."""
    if rules.claims is not None:
        with telling.step(CLAIMS), Interrupts() as interrupts:
            facts = claims.check(project, rules.claims, run_dir, environ=environ, interrupts=interrupts)
        for line in claims.summary(rules.claims, facts, environ):
            telling.say(line)
        if interrupts.first is not None:
            return _code(interrupts)
    for line in _checked(rules, project, run_dir, environ, telling):
        telling.say(line)
    return None


def _code(interrupts: Interrupts) -> ExitCode | None:
    """The exit code of the first signal, None where there was none."""
    if interrupts.first is None:
        return None
    return ExitCode.SIGINT if interrupts.first is signal.SIGINT else ExitCode.SIGTERM


def _checked(
    rules: Policy, project: Path, run_dir: Path, environ: Mapping[str, str], telling: Telling
) -> Iterator[str]:
    if rules.typecheck is not None:
        with telling.step(TYPES):
            types = typecheck.check(project, rules.typecheck.paths, run_dir)
        yield typecheck.line(types, accepted.beyond(types.errors, accepted.load(project)))
    if rules.benchmarks:
        gates = {each.name: each.gate for each in rules.benchmarks}
        with telling.step(BENCHMARKS):
            measured = benchmark.measure(project, run_dir, names=gates)
        yield from benchmark.lines(measured, gates)
    setups, values = {cell.setup for cell in rules.cells}, secrets_of(rules, project, environ)
    with telling.step(RECORDINGS):
        root = recording_dir(project, environ)
        found = recordings_check.check(
            root,
            setups,
            integration_root=catalog.load(project).integration_root,
            asked=rules.recordings,
            values=values,
            now=datetime.now(UTC),
        )
    facts = replace(found, commit=git.state(project).commit, policy=digests.policy(project))
    jsonfile.write(run_dir / "checks/recordings.json", recordings.to_json(facts))


def secrets_of(rules: Policy, project: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """What no output may show, by the name of its variable: the secrets of the setups that the policy asks for."""
    known = catalog.load(project)
    names = {name for cell in rules.cells for name in known.setup(cell.setup).all_secrets}
    return redact.known_values(names, environ)
