"""Runs whole workflows: jobs in the order of their needs, workflows that jobs call, and those that follow a run."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ci.rehearsal import composite, reading
from ci.rehearsal.check import check, check_action, check_use
from ci.rehearsal.events import Before, Event, inputs, make, starts
from ci.rehearsal.expressions import Scope, text
from ci.rehearsal.fake_gh import TOKEN
from ci.rehearsal.job_state import worked_out
from ci.rehearsal.jobs import Run, granted, run_job
from ci.rehearsal.model import Job, Step, Workflow
from ci.rehearsal.order import Result
from ci.rehearsal.origin import Origin
from ci.rehearsal.problems import Found, WorkflowError
from ci.rehearsal.results import JobEnd, LegEnd
from ci.rehearsal.stage import Stage

from stackproof.errors import UsageError

FOLDER = ".github/workflows"
_DEEPEST = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class RunEnd:
    """A run that is over. event: what started it."""

    file: str
    event: str
    number: int
    jobs: Mapping[str, JobEnd]
    seconds: float

    @property
    def legs(self) -> list[LegEnd]:
        """Every job and every leg."""
        return [leg for job in self.jobs.values() for leg in job.legs]

    @property
    def conclusion(self) -> str:
        """What GitHub shows beside the run."""
        results = [job.result for job in self.jobs.values()]
        for worst in (Result.FAILURE, Result.CANCELLED):
            if worst in results:
                return str(worst.value)
        return str((Result.SUCCESS if Result.SUCCESS in results else Result.SKIPPED).value)


def rehearse(stage: Stage, workflows: Sequence[Workflow]) -> Iterator[RunEnd]:
    """Run those that the event starts, and after each of them those that wait for it."""
    for workflow in workflows:
        if starts(workflow, stage.order.event):
            yield from _with_followers(stage, workflow, make(stage.order, workflow, stage.origin), workflows)


def sound(workflows: Iterable[Workflow], origin: Origin) -> Found:
    """What is wrong with workflows, and with the repository's actions that they use, before anything runs."""
    found = Found()
    for workflow in workflows:
        check(workflow, found)
        for job in workflow.jobs.values():
            _actions(job.steps, origin, found, 0)
        if not found.findings:
            in_order(workflow, ())
    return found


def _actions(steps: Iterable[Step], origin: Origin, found: Found, depth: int) -> None:
    for step in steps:
        action = composite.of_commit(step.uses or "", origin, origin.commit)
        if action is not None and depth < composite.DEEPEST:
            check_action(action, found)
            check_use(step, action, found)
            _actions(action.steps, origin, found, depth + 1)


def in_order(workflow: Workflow, wanted: Sequence[str]) -> list[Job]:
    """Jobs after what they need; of all, or of the wanted and what these need. Raises WorkflowError for a circle."""
    for name in wanted:
        if name not in workflow.jobs:
            raise UsageError(f"{workflow.file} has no job {name!r}; it has {', '.join(workflow.jobs)}")
    made: dict[str, Job] = {}

    def add(name: str, below: tuple[str, ...]) -> None:
        job = workflow.jobs[name]
        if name in below:
            raise WorkflowError(job.document.place(job.path), f"jobs need each other in a circle: {' → '.join(below)}")
        for one in job.needs:
            if one not in made:
                add(one, (*below, name))
        made.setdefault(name, job)

    for name in wanted or workflow.jobs:
        add(name, ())
    return list(made.values())


def _with_followers(
    stage: Stage, workflow: Workflow, event: Event, workflows: Sequence[Workflow], depth: int = 0
) -> Iterator[RunEnd]:
    end = _run(stage, workflow, event)
    yield end
    # GitHub stops such chains after three.
    for follower in workflows if depth < 3 else ():
        waits = follower.events.get("workflow_run", {})
        if workflow.name in (waits.get("workflows") or ()) and "completed" in (waits.get("types") or ("completed",)):
            before = Before(workflow=workflow, event=event, conclusion=end.conclusion, number=end.number)
            after = make(stage.order, follower, stage.origin, before)
            yield from _with_followers(stage, follower, after, workflows, depth + 1)


def _run(stage: Stage, workflow: Workflow, event: Event) -> RunEnd:
    number, before = stage.next_run(), time.monotonic()
    stage.say(f"\n{workflow.file} · {event.name} · {event.ref}")
    given: Mapping[str, Any] = {}
    if event.name == "workflow_dispatch":
        given = inputs(stage.order.inputs, workflow)
    secrets = stage.order.secrets if event.trusted else {}
    if stage.order.secrets and not event.trusted:
        stage.found.play("secrets withheld, as from a fork")
    run = Run(stage=stage, workflow=workflow, event=event, number=number, inputs=given, secrets=secrets)
    jobs = run_all(run)
    seconds = time.monotonic() - before
    end = RunEnd(file=workflow.file, event=event.name, number=number, jobs=jobs, seconds=seconds)
    if workflow.file.rpartition("/")[2] in stage.order.earlier and all(leg.pretended for leg in end.legs):
        stage.give(workflow.file.rpartition("/")[2], number)
    stage.end_run(workflow, event, number, end.conclusion)
    return end


def run_all(run: Run) -> dict[str, JobEnd]:
    """Every job of a run."""
    ends: dict[str, JobEnd] = {}
    for job in in_order(run.workflow, () if run.depth else run.stage.order.jobs):
        ends[job.id] = run_job(run, job, ends, _call)
    return ends


def _call(run: Run, job: Job, scope: Scope) -> JobEnd:
    """Run the workflow of the repository that a job calls, as a part of the same run."""
    place, uses = job.document.place((*job.path, "uses")), job.uses or ""
    if run.depth >= _DEEPEST:
        raise WorkflowError(place, f"workflows call each other {_DEEPEST} levels deep")
    if not uses.startswith(("./", "$/")):
        raise WorkflowError(place, f"only workflows of this repository are played, not {uses!r}")
    source = run.stage.origin.show(uses[2:], run.event.sha)
    if source is None:
        raise WorkflowError(place, f"there is no {uses[2:]}")
    if job.matrix is not None:
        raise WorkflowError(place, "a matrix of called workflows is not played")
    called = reading.workflow(source, uses[2:])
    check(called, run.stage.found)
    if "workflow_call" not in called.events:
        raise WorkflowError(place, f"{called.file} cannot be called: it has no 'on: workflow_call'")
    inner = replace(
        run,
        workflow=called,
        inputs=_call_inputs(job, called, scope),
        secrets=_call_secrets(run, job, scope),
        permissions=granted(run, job),
        prefix=f"{run.prefix}{job.id} / ",
        depth=run.depth + 1,
    )
    ends = run_all(inner)
    jobs = {name: {"result": end.result.value, "outputs": dict(end.outputs)} for name, end in ends.items()}
    outer = Scope(contexts={**inner.contexts(), "jobs": jobs})
    outputs = {
        name: text(worked_out(called.document, ("on", "workflow_call", "outputs", name), one["value"], outer))
        for name, one in (called.events["workflow_call"].get("outputs") or {}).items()
    }
    legs = tuple(leg for end in ends.values() for leg in end.legs)
    return JobEnd(id=job.id, needs=job.needs, legs=tuple(replace(leg, outputs=outputs) for leg in legs))


def _call_inputs(job: Job, called: Workflow, scope: Scope) -> dict[str, Any]:
    declared, place = called.events["workflow_call"].get("inputs") or {}, job.document.place((*job.path, "with"))
    given = {name: worked_out(job.document, (*job.path, "with", name), one, scope) for name, one in job.inputs.items()}
    for name in given:
        if name not in declared:
            raise WorkflowError(place, f"{called.file} has no input {name!r}")
    for name, one in declared.items():
        if name not in given and one.get("required"):
            raise WorkflowError(place, f"{called.file} wants the input {name!r}")
    return {name: given.get(name, one.get("default", "")) for name, one in declared.items()}


def _call_secrets(run: Run, job: Job, scope: Scope) -> Mapping[str, str]:
    if job.secrets == "inherit":
        return run.secrets
    if isinstance(job.secrets, str):
        return {}
    own = {**run.secrets, "GITHUB_TOKEN": TOKEN}
    here = Scope(contexts={**scope.contexts, "secrets": own})
    return {
        name: text(worked_out(job.document, (*job.path, "secrets", name), value, here))
        for name, value in job.secrets.items()
    }
