"""Runs one job: its condition, its legs, each on a machine of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ci.rehearsal import contexts, matrix
from ci.rehearsal.events import Event
from ci.rehearsal.expressions import ExpressionError, Scope, evaluate, is_true, number, text
from ci.rehearsal.job_state import JobState, worked_out
from ci.rehearsal.model import Job, Workflow
from ci.rehearsal.order import Result
from ci.rehearsal.problems import WorkflowError
from ci.rehearsal.results import JobEnd, LegEnd, of_jobs
from ci.rehearsal.stage import Stage
from ci.rehearsal.steps import Steps, event_file
from ci.rehearsal.template import condition


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One run of a workflow. secrets: those that it is handed. permissions: what its token may at most; None: anything.

    prefix: the job that calls it, in front of its own jobs' names.
    """

    stage: Stage
    workflow: Workflow
    event: Event
    number: int
    inputs: Mapping[str, Any]
    secrets: Mapping[str, str]
    permissions: Mapping[str, str] | None = None
    prefix: str = ""
    depth: int = 0

    def contexts(self, job: str = "") -> dict[str, Any]:
        """What every expression of the workflow may name."""
        return {
            "github": contexts.github(self.stage, self.workflow, self.event, self.number, job),
            "inputs": dict(self.inputs),
            "vars": dict(self.stage.order.variables),
        }


def run_job(run: Run, job: Job, ends: Mapping[str, JobEnd], call: Callable[[Run, Job, Scope], JobEnd]) -> JobEnd:
    """Run a job whose needs are over. call: runs the workflow that a job calls."""
    stage = run.stage
    pretended = stage.order.ends.get(job.id)
    if pretended is not None:
        stage.say(f"{run.prefix}{job.id}: said to end with {pretended.value}")
        said = LegEnd(job=job.id, name=f"{run.prefix}{job.id}", result=pretended, why="not run", pretended=True)
        return JobEnd(id=job.id, needs=job.needs, legs=(said,))
    scope = _scope(run, job, ends)
    try:
        wanted = is_true(evaluate(condition(job.condition), scope))
    except ExpressionError as error:
        raise WorkflowError(job.document.place((*job.path, "if")), str(error)) from None
    if not wanted:
        why = _why_not(job, ends)
        stage.say(f"{run.prefix}{job.id}: skipped, {why}")
        skipped = LegEnd(job=job.id, name=f"{run.prefix}{job.id}", result=Result.SKIPPED, why=why)
        return JobEnd(id=job.id, needs=job.needs, legs=(skipped,))
    if job.uses is not None:
        return call(run, job, scope)
    made: list[LegEnd] = []
    all_legs = _legs(run, job, scope)
    for index, leg in enumerate(all_legs):
        strategy = {"fail-fast": True, "job-index": index, "job-total": len(all_legs), "max-parallel": len(all_legs)}
        leg_scope = Scope(
            contexts={**scope.contexts, "matrix": leg, "strategy": strategy},
            functions=scope.functions,
            absent=contexts.absent(stage, {}, lambda _: None),
        )
        fast = is_true(worked_out(job.document, (*job.path, "strategy", "fail-fast"), job.fail_fast, leg_scope))
        if fast and any(end.result is Result.FAILURE and not end.tolerated for end in made):
            name = matrix.name(f"{run.prefix}{job.id}", leg)
            made.append(LegEnd(job=job.id, name=name, result=Result.CANCELLED, why="another leg failed (fail-fast)"))
        else:
            made.append(_leg(run, job, leg_scope, leg))
    return JobEnd(id=job.id, needs=job.needs, legs=tuple(made))


def granted(run: Run, job: Job) -> Mapping[str, str]:
    """What the job's token may: its own words, else the workflow's, within what the run may at all.

    Where nobody says anything, what GitHub gives as a default to a new repository.
    """
    asked = job.permissions if job.permissions is not None else run.workflow.permissions
    asked = {"contents": "read", "packages": "read"} if asked is None else asked
    if not run.event.trusted:
        # A pull request of a fork reads, whatever is written.
        asked = {scope: "read" if level == "write" else level for scope, level in asked.items()}
    if run.permissions is not None:
        for scope, level in asked.items():
            most = run.permissions.get(scope, "none")
            if level == "write" != most or (level == "read" and most == "none"):
                place = job.document.place(job.path)
                raise WorkflowError(place, f"the job asks for {scope}: {level}, and its caller permits {most}")
    return {scope: level for scope, level in asked.items() if level != "none"}


def _scope(run: Run, job: Job, ends: Mapping[str, JobEnd]) -> Scope:
    return Scope(
        contexts={**run.contexts(job.id), "needs": contexts.needs(job.needs, ends)},
        functions=of_jobs(job.needs, ends),
        absent=contexts.absent(run.stage, {}, lambda _: None),
    )


def _why_not(job: Job, ends: Mapping[str, JobEnd]) -> str:
    bad = [
        f"{name} ended with {ends[name].result.value}" for name in job.needs if ends[name].result is not Result.SUCCESS
    ]
    if bad:
        return ", ".join(bad)
    if job.condition is None:
        return "a job further up did not succeed"
    return f"its condition does not hold ({job.document.place((*job.path, 'if'))})"


def _legs(run: Run, job: Job, scope: Scope) -> list[dict[str, Any]]:
    if job.matrix is None:
        return [{}]
    place = job.document.place((*job.path, "strategy", "matrix"))
    try:
        all_legs = matrix.legs(_filled(job, (*job.path, "strategy", "matrix"), job.matrix, scope))
    except ExpressionError as error:
        raise WorkflowError(place, str(error)) from None
    kept = matrix.narrowed(all_legs, run.stage.order.matrix)
    if not kept:
        raise WorkflowError(place, "no leg of the matrix is what --matrix asks for")
    if len(kept) < len(all_legs):
        run.stage.found.play(f"matrix of {job.id}: {len(kept)} of {len(all_legs)} legs")
    return kept


def _filled(job: Job, path: tuple[str | int, ...], given: Any, scope: Scope) -> Any:
    if isinstance(given, dict):
        return {key: _filled(job, (*path, key), value, scope) for key, value in given.items()}
    if isinstance(given, list):
        return [_filled(job, (*path, number_), value, scope) for number_, value in enumerate(given)]
    return worked_out(job.document, path, given, scope)


def _leg(run: Run, job: Job, scope: Scope, leg: Mapping[str, Any]) -> LegEnd:
    stage, before = run.stage, time.monotonic()
    name = (
        text(worked_out(job.document, (*job.path, "name"), job.name, scope)) if job.name else matrix.name(job.id, leg)
    )
    shown = stage.masks.hide(f"{run.prefix}{name}")
    permissions = granted(run, job)
    environment = worked_out(job.document, (*job.path, "environment"), job.environment, scope)
    minutes = number(worked_out(job.document, (*job.path, "timeout-minutes"), job.timeout, scope))
    if not minutes > 0:
        raise WorkflowError(job.document.place((*job.path, "timeout-minutes")), "the time of a job is no number")
    stage.say(f"{shown}: {_can(permissions)}{f'; environment {environment}, let in' if environment else ''}")
    if environment:
        stage.found.play(f"environment {text(environment)}: its protection")
    machine = stage.machine()
    try:
        github = {**scope.contexts["github"], "workspace": str(machine.workspace)}
        runner = {
            "name": "rehearsal",
            "os": "Linux",
            "arch": "X64",
            "temp": str(machine.temp),
            "tool_cache": str(machine.tools),
            "environment": "github-hosted",
            "debug": "",
        }
        secrets = {**run.secrets, "GITHUB_TOKEN": github["token"]}
        base = {**scope.contexts, "github": github, "runner": runner, "secrets": secrets}
        state = JobState(
            stage=stage,
            machine=machine,
            event=run.event,
            run=run.number,
            base=base,
            env=_env(run, job, base),
            shell=job.shell,
            working_directory=job.working_directory,
            permissions=permissions,
            deadline=time.monotonic() + minutes * 60,
        )
        github["event_path"] = event_file(state)
        steps = Steps(state, job.steps)
        steps.run()
        outputs = _outputs(job, state, steps)
        late = time.monotonic() >= state.deadline
        tolerated = is_true(worked_out(job.document, job.path, job.continue_on_error, scope))
        broken = next((end for end in steps.ends if end.conclusion is Result.FAILURE), None)
        result = Result.CANCELLED if late else Result.FAILURE if steps.failed else Result.SUCCESS
        why = (
            f"its time was up after {minutes:g} minutes" if late else f"{broken.title}: {broken.why}" if broken else ""
        )
        return LegEnd(
            job=job.id,
            name=shown,
            result=result,
            why=why,
            steps=tuple(steps.ends),
            outputs=outputs,
            seconds=time.monotonic() - before,
            environment=text(environment) or None,
            permissions=permissions,
            annotations=tuple(state.annotations),
            tolerated=tolerated,
        )
    finally:
        stage.end(machine)


def _can(permissions: Mapping[str, str]) -> str:
    said = ", ".join(f"{scope}: {level}" for scope, level in sorted(permissions.items()))
    return f"token may {said or 'nothing'}"


def _env(run: Run, job: Job, base: Mapping[str, Any]) -> dict[str, str]:
    scope = Scope(contexts=base, absent=contexts.absent(run.stage, {}, lambda _: None))
    made: dict[str, str] = {}
    for document, path, given in (
        (run.workflow.document, ("env",), run.workflow.env),
        (job.document, (*job.path, "env"), job.env),
    ):
        made |= {name: text(worked_out(document, (*path, name), value, scope)) for name, value in given.items()}
    return made


def _outputs(job: Job, state: JobState, steps: Steps) -> dict[str, str]:
    """What other jobs see. GitHub hands on nothing that has a secret in it, and says so only in a warning."""
    made: dict[str, str] = {}
    env = {**state.env, **state.machine.variables}
    for name, given in job.outputs.items():
        path = (*job.path, "outputs", name)
        value = text(worked_out(job.document, path, given, steps.scope(job.steps[-1], env, at=path)))
        if state.stage.masks.holds(value):
            found, place = state.stage.found, job.document.place(path)
            found.add(place, f"the output {name!r} holds a secret, so that GitHub hands on an empty one")
            value = ""
        made[name] = value
    return made
