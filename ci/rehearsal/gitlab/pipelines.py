"""Runs a pipeline, and the child pipelines of its trigger jobs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ci.rehearsal.gitlab import config
from ci.rehearsal.gitlab.config import Config
from ci.rehearsal.gitlab.jobs import run_job
from ci.rehearsal.gitlab.listing import lines
from ci.rehearsal.gitlab.plan import Pipeline, Planned, plan
from ci.rehearsal.gitlab.variables import circles, predefined, worked_out
from ci.rehearsal.order import Result
from ci.rehearsal.problems import WorkflowError
from ci.rehearsal.results import JobEnd, LegEnd
from ci.rehearsal.runs import RunEnd
from ci.rehearsal.stage import Stage

FILE = ".gitlab-ci.yml"
_CHILD = "parent_pipeline"


@dataclass(frozen=True, kw_only=True, slots=True)
class Around:
    """What a pipeline is started with. source: CI_PIPELINE_SOURCE. outside: variables that come before its own.

    revision: of the files that it includes.
    """

    stage: Stage
    source: str
    outside: Mapping[str, str]
    revision: str
    parent: str = ""


def rehearse(stage: Stage, source: str) -> list[RunEnd]:
    """The pipeline of the project for a source, and what it starts. Raises WorkflowError."""
    ends: list[RunEnd] = []
    if (top := _top(stage, source)) is not None:
        _pipeline(*top, ends)
    return ends


def listed(stage: Stage, source: str) -> list[str]:
    """What the pipeline for a source consists of, as lines of text; nothing runs. Raises WorkflowError."""
    top = _top(stage, source)
    if top is None:
        return []
    loaded, _, made = _planned(*top, stage.next_run())
    return lines(loaded, made, source)


def _top(stage: Stage, source: str) -> tuple[Around, list[tuple[str, str]]] | None:
    revision = stage.origin.head if source == "merge_request_event" else stage.origin.commit
    text = stage.origin.show(FILE, revision)
    if text is None:
        return None
    outside = {**stage.order.secrets, **stage.order.variables}
    return Around(stage=stage, source=source, outside=outside, revision=revision), [(text, FILE)]


def _planned(
    around: Around, sources: list[tuple[str, str]], number: int
) -> tuple[Config, Mapping[str, str], Pipeline | None]:
    stage = around.stage
    loaded = config.load(sources, lambda path: stage.origin.show(path, around.revision))
    known = {**predefined(around.source, stage.order, stage.origin, number)}
    if around.source == _CHILD:
        # A child is of the same commit as its parent, whatever started that.
        known = {**predefined(around.parent, stage.order, stage.origin, number), "CI_PIPELINE_SOURCE": _CHILD}
    made = plan(loaded, {**known, **around.outside}, lambda path: stage.origin.show(path, around.revision) is not None)
    return loaded, known, made


def _pipeline(around: Around, sources: list[tuple[str, str]], ends: list[RunEnd]) -> Result:
    stage, before = around.stage, time.monotonic()
    number = stage.next_run()
    loaded, known, made = _planned(around, sources, number)
    stage.say(f"\n{loaded.file} · {around.source}")
    if made is None:
        stage.say("no pipeline: its own rules want none")
        ends.append(RunEnd(file=loaded.file, event=around.source, number=number, jobs={}, seconds=0.0))
        return Result.SUCCESS
    for name, why in made.absent.items():
        stage.say(f"{name}: not in the pipeline, {why}")
    jobs = _jobs(around, loaded, made, known, ends)
    seconds = time.monotonic() - before
    end = RunEnd(file=loaded.file, event=around.source, number=number, jobs=jobs, seconds=seconds)
    ends.append(end)
    return Result(end.conclusion)


def _jobs(
    around: Around, loaded: Config, made: Pipeline, known: Mapping[str, str], ends: list[RunEnd]
) -> dict[str, JobEnd]:
    done: dict[str, JobEnd] = {}
    # What each job has left, by its name; of a parallel one each time that it ran.
    kept: dict[str, dict[str, Path]] = {}
    stage = around.stage
    for job in made.jobs:
        if stage.order.jobs and around.source != _CHILD and job.name not in _wanted(made, stage.order.jobs):
            continue
        if around.source == _CHILD and not _of_matrix(stage, job):
            stage.found.play(f"{job.name}: left out by --matrix")
            continue
        own = _own(job, done, loaded, made)
        why = _why_not(job, [done[name] for name in own if name in done])
        pretended = stage.order.ends.get(job.name)
        # What comes from outside wins over what the file says.
        variables = {**known, **made.variables, **job.variables, **around.outside}
        circles(job.variables, lambda what, job=job: stage.found.add(job.place, f"{job.name}: {what}"))  # type: ignore[misc]
        if pretended is not None:
            legs = [LegEnd(job=job.name, name=job.name, result=pretended, why="not run", pretended=True)]
        elif why:
            stage.say(f"{job.name}: skipped, {why}")
            legs = [LegEnd(job=job.name, name=job.name, result=Result.SKIPPED, why=why)]
        elif "trigger" in job.given:
            legs = [_trigger(around, job, variables, kept, ends)]
        else:
            takes = own if job.takes is None else job.takes
            there = {each: path for name in takes for each, path in kept.get(name, {}).items()}
            legs = []
            for name, numbers in job.instances():
                if not _of_shard(stage, job, name):
                    stage.found.play(f"{name}: left out by --matrix")
                    continue
                leg, left = run_job(stage, replace(job, name=name), {**variables, **numbers}, there)
                legs.append(replace(leg, job=job.name))
                kept.setdefault(job.name, {}).update({} if left is None else {name: left})
        done[job.name] = JobEnd(id=job.name, needs=tuple(own), legs=tuple(legs))
    return done


def _wanted(made: Pipeline, names: tuple[str, ...]) -> set[str]:
    by_name, wanted, waiting = {job.name: job for job in made.jobs}, set[str](), list(names)
    while waiting:
        name = waiting.pop()
        if name in by_name and name not in wanted:
            wanted.add(name)
            waiting += [need.removesuffix("?") for need in by_name[name].needs or ()]
    return wanted


def _of_matrix(stage: Stage, job: Planned) -> bool:
    """`--matrix lane=NAME` keeps one job of a child, and what has no part in the choice: its verdict."""
    lane = stage.order.matrix.get("lane")
    return lane is None or job.name == lane or job.stage in (".pre", ".post")


def _of_shard(stage: Stage, job: Planned, name: str) -> bool:
    """`--matrix shard=1/3` keeps that one of what runs in parallel."""
    wanted = stage.order.matrix.get("shard")
    return wanted is None or job.parallel is None or name == f"{job.name} {wanted}"


def _own(job: Planned, done: Mapping[str, JobEnd], loaded: Config, made: Pipeline) -> list[str]:
    """The jobs that it waits for."""
    if job.needs is not None:
        return [name.removesuffix("?") for name in job.needs]
    stages = {one.name: loaded.stages.index(one.stage) for one in made.jobs}
    return [name for name in done if stages[name] < loaded.stages.index(job.stage)]


def _why_not(job: Planned, before: list[JobEnd]) -> str:
    bad = [f"{end.id} ended with {end.result.value}" for end in before if end.result is not Result.SUCCESS]
    # A job that was left to a person does not hold up the others where it may fail.
    bad = [one for one in bad if not one.endswith("skipped")] if job.when == "always" else bad
    match job.when:
        case "manual" | "delayed":
            return f"it is {job.when}"
        case "on_failure":
            return "" if any(end.result is Result.FAILURE for end in before) else "nothing has failed"
        case "always":
            return ""
        case _:
            return ", ".join(bad)


def _trigger(
    around: Around,
    job: Planned,
    variables: Mapping[str, str],
    kept: Mapping[str, Mapping[str, Path]],
    ends: list[RunEnd],
) -> LegEnd:
    stage, before, given = around.stage, time.monotonic(), job.given["trigger"]
    if not isinstance(given, dict) or "include" not in given:
        raise WorkflowError(job.place, f"{job.name}: only child pipelines are played ('trigger: include')")
    stage.say(f"{job.name}: starts a child pipeline")
    sources = _sources(around, job, given["include"], kept)
    if isinstance(sources, str):
        return LegEnd(job=job.name, name=job.name, result=Result.FAILURE, why=sources)
    forward = {"yaml_variables": True, "pipeline_variables": False, **(given.get("forward") or {})}
    outside: dict[str, str] = {}
    if forward["pipeline_variables"]:
        outside |= around.outside
    if forward["yaml_variables"]:
        # The job's own, and what it inherits from the top; what they stand for is looked up here, not there.
        here = worked_out({**variables, "CI_JOB_NAME": job.name, "CI_JOB_STAGE": job.stage})
        outside = {**{name: value for name, value in here.items() if not name.startswith("CI")}, **outside}
    child = Around(
        stage=stage, source=_CHILD, outside=outside, revision=around.revision, parent=around.parent or around.source
    )
    try:
        inner = _pipeline(child, sources, ends)
    except WorkflowError as error:
        stage.found.add(error.place, error.text)
        return LegEnd(job=job.name, name=job.name, result=Result.FAILURE, why=f"no child pipeline: {error.text}")
    depends = given.get("strategy") in ("depend", "mirror")
    result = inner if depends and inner is not Result.SKIPPED else Result.SUCCESS
    why = f"the child pipeline ended with {inner.value}" if result is not Result.SUCCESS else ""
    return LegEnd(job=job.name, name=job.name, result=result, why=why, seconds=time.monotonic() - before)


def _sources(
    around: Around, job: Planned, given: Any, kept: Mapping[str, Mapping[str, Path]]
) -> list[tuple[str, str]] | str:
    made: list[tuple[str, str]] = []
    for one in given if isinstance(given, list) else [given]:
        entry = {"local": one} if isinstance(one, str) else one
        if "artifact" in entry:
            folder = kept.get(entry["job"], {}).get(entry["job"])
            path = None if folder is None else folder / entry["artifact"]
            if path is None or not path.is_file():
                return f"the job {entry['job']!r} has left no {entry['artifact']!r}"
            made.append((path.read_text(), entry["artifact"]))
        elif "local" in entry:
            name = entry["local"].lstrip("/")
            text = around.stage.origin.show(name, around.revision)
            if text is None:
                raise WorkflowError(job.place, f"there is no {name}")
            made.append((text, name))
        else:
            raise WorkflowError(job.place, f"only 'local' and 'artifact' are played, not {entry!r}")
    return made
