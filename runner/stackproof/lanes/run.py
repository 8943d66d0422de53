"""Runs one lane here, as CI does: its part of the release, its smoke or its recording, into one run folder."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from itertools import groupby
from pathlib import Path

from rich.console import Console

from stackproof import console, parts
from stackproof.ci import guard, log
from stackproof.errors import ExitCode
from stackproof.evidence.gather import gather
from stackproof.evidence.read import Evidence
from stackproof.lanes import in_parts, judged, told
from stackproof.lanes.records import Check, Lane
from stackproof.lanes.sharding import Share
from stackproof.parts import Parts
from stackproof.plaintext import counted
from stackproof.plan import Plan
from stackproof.run.interrupts import Interrupts
from stackproof.run.judge import worst
from stackproof.run.rundir import new_run_id
from stackproof.run.steps import Telling
from stackproof.shards.records import Shard
from stackproof.verdict import policy, terminal
from stackproof.verdict.concealing import conceal_verdict
from stackproof.verdict.policy_records import Policy
from stackproof.verdict.records import Verdict


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A lane that is to be run. again: the command that does it. environ: the caller's, which wins over the lane's.
    at_once: cells that run side by side, None: as the lane says. share: what this job runs of it, None for all."""

    lane: Lane
    project: Path
    environ: Mapping[str, str]
    today: date
    again: str
    as_json: bool = False
    at_once: int | None = None
    share: Share | None = None

    @property
    def called(self) -> str:
        """`library`, and of a shard `library 1/2`."""
        return self.lane.name if self.share is None else f"{self.lane.name} {self.share.shard}"

    @property
    def parts(self) -> Mapping[str, Shard]:
        """The cells that run in part, by their ids."""
        return {} if self.share is None else self.share.parts

    @property
    def variables(self) -> dict[str, str]:
        """What the lane runs with."""
        return variables(self.lane, self.environ)


def run(asked: Asked) -> int:
    """Everything of the lane; the worst exit code of what it ran, or that of the signal that ended it.

    UsageError when something that it names does not exist: nothing is run then. For the main thread only.
    """
    lane = asked.lane
    if lane.smoke is not None:
        from stackproof.live import smoke  # noqa: PLC0415 - it is for these lanes alone

        order = replace(lane.smoke, as_json=asked.as_json)
        return smoke.run(asked.project, order, environ=asked.variables, today=asked.today)
    return _parts(asked)


def variables(lane: Lane, environ: Mapping[str, str]) -> dict[str, str]:
    """What the lane runs with where the caller has `environ`, which wins: an empty variable of his counts as none."""
    return {**lane.env, **{name: value for name, value in environ.items() if value}}


def plans(
    lane: Lane, project: Path, run_id: str, environ: Mapping[str, str], share: Share | None = None
) -> tuple[Plan, ...]:
    """The plans of a lane's cells, those that it records too; UsageError when something that they name is not there.

    share: of this lane, where some of the cells run in part.
    """
    divided = {} if share is None else share.parts
    whole = [each.cell for each in lane.cells if each.cell.id not in divided]
    made = list(parts.plans(whole, project, run_id, environ))
    for cell in (each.cell for each in lane.cells if each.cell.id in divided):
        part = {"shard": str(divided[cell.id]), "timings": () if share is None else share.timings}
        made += parts.plans([cell], project, run_id, environ, part)
    if lane.record is not None:
        # The file says that this lane records, so it may under CI, too.
        options = {"inference_mode": lane.record.mode.value, "allow_record_in_ci": True}
        for service, cells in groupby(lane.record.cells, key=lambda each: each.service):
            given = {**options, "provider_service": service} if service is not None else options
            made += parts.plans([each.cell for each in cells], project, run_id, environ, given)
    return tuple(made)


def _parts(asked: Asked) -> int:
    lane, project, environ, share = asked.lane, asked.project, asked.variables, asked.share
    rules = policy.load(project) if (project / policy.PATH).is_file() else None
    run_id = new_run_id(project)
    checks = tuple(check for check in Check if check in lane.checks)
    whole = Parts(
        project=project,
        run_id=run_id,
        rules=rules,
        plans=plans(lane, project, run_id, environ, share),
        checks=checks,
        kind="lane",
        at_once=asked.at_once or lane.cells_at_once,
        facts={} if share is None else share.facts(),
    )
    shown = Console(quiet=True) if asked.as_json else console.make(sys.stdout, environ)
    say = (lambda _: None) if asked.as_json else console.told
    steps = parts.steps_of(whole)
    with log.fenced(environ, quiet=asked.as_json) as folds, Interrupts() as late:
        say(f"stackproof lane {asked.called} · run {run_id} · {counted(len(steps.names), 'step')}")
        if not steps.names:
            say("all of the lane is in the other shards: nothing is left for this one")
        ran = parts.carry_out(whole, environ, Telling(console=shown, say=say, steps=steps, log=folds))
        found = gather([whole.run_dir]) if share is None else in_parts.of_run(whole.run_dir)
        weighed = in_parts.without(lane, in_parts.idle(found, asked.parts))
        verdict = _verdict(asked, rules, weighed, found)
        beside = [ran.codes.get(name, ExitCode.NOTHING_RAN) for name in _not_judged(weighed, asked.parts)]
        codes = [*beside, *([verdict.exit_code] if verdict is not None else [])]
        made = told.Told(
            lane=lane.name,
            shard=None if share is None else share.shard,
            run_dir=whole.run_dir,
            verdict=verdict,
            codes=ran.codes,
            exit_code=ran.stopped or worst(codes),
            again=asked.again,
            secrets=_secrets(lane, rules, project, environ),
            waivers=rules.waivers if rules is not None else (),
        )
        content = told.write(made)
        told.summarise(made, environ)
        if asked.as_json:
            console.out(json.dumps(content, indent=2, ensure_ascii=False))
        for line in () if asked.as_json else told.lines(made, project):
            # The rules of a verdict stand in columns.
            console.told(line, hanging=None if made.verdict is None else terminal.hanging(made.verdict, line) or None)
    for line in () if asked.as_json else told.annotated(made, environ):
        guard.command(line)
    return int(parts.code_of(late) or made.exit_code)


def _verdict(asked: Asked, rules: Policy | None, lane: Lane, evidence: Evidence) -> Verdict | None:
    """Over what the policy asks of the lane; None where that is nothing."""
    checks = set(lane.checks) - {Check.FRESHNESS}
    if rules is None or not (checks or any(each.wanted for each in lane.cells)):
        return None
    found = judged.judge(
        lane,
        rules,
        evidence,
        asked.project,
        environ=asked.variables,
        today=asked.today,
        again=asked.again,
        parts=asked.parts,
    )
    return conceal_verdict(found, _secrets(asked.lane, rules, asked.project, asked.variables))


def _not_judged(lane: Lane, divided: Mapping[str, Shard]) -> list[str]:
    """Cells and checks that the policy says nothing about: what they ended with is all there is to say."""
    recorded = lane.record.cells if lane.record is not None else ()
    cells = [in_parts.folder(each.cell.id, divided) for each in (*lane.cells, *recorded) if not each.wanted]
    return [*cells, *(check.value for check in lane.checks if check is Check.FRESHNESS)]


def _secrets(lane: Lane, rules: Policy | None, project: Path, environ: Mapping[str, str]) -> Mapping[str, str]:
    setups = {each.cell.setup for each in (*lane.cells, *(lane.record.cells if lane.record is not None else ()))}
    asked = parts.secrets_of(rules, project, environ) if rules is not None else {}
    return {**asked, **parts.secrets_of_setups(setups, project, environ)}
