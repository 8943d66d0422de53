"""Runs one job of a pipeline: a clone, what it is handed, its scripts, what it leaves."""

from __future__ import annotations

import shutil
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ci.rehearsal import shell
from ci.rehearsal.actions import FailedError
from ci.rehearsal.actions.languages import environment_of
from ci.rehearsal.artifacts import Selected, select
from ci.rehearsal.gitlab import config
from ci.rehearsal.gitlab.plan import Planned
from ci.rehearsal.gitlab.variables import expanded, worked_out
from ci.rehearsal.machine import Machine
from ci.rehearsal.order import Result
from ci.rehearsal.origin import clone
from ci.rehearsal.results import LegEnd, StepEnd
from ci.rehearsal.stage import Stage

_TAIL = 25
_HOUR = 3600.0
_STRICT = "set -eo pipefail\nset +o noclobber\n"


def run_job(
    stage: Stage, job: Planned, known: Mapping[str, str], kept: Mapping[str, Path]
) -> tuple[LegEnd, Path | None]:
    """How it ended, and the folder with what it leaves. known: variables around it. kept: folders of earlier jobs."""
    before = time.monotonic()
    stage.say(f"{job.name}: stage {job.stage}")
    machine = stage.machine()
    for key in ("cache", "services"):
        if key in job.given:
            stage.found.play(f"{key} of {job.name}: not there")
    try:
        steps, failed = _scripts(stage, job, machine, known, kept)
        target = stage.folder / "kept" / f"{machine.folder.name}"
        left = _artifacts(stage, job, machine, known, target, failed=failed)
        broken = next((step for step in steps if step.conclusion is Result.FAILURE), None)
        result = Result.FAILURE if failed else Result.SUCCESS
        return LegEnd(
            job=job.name,
            name=job.name,
            result=result,
            why=f"{broken.title}: {broken.why}" if broken else "",
            steps=tuple(steps),
            seconds=time.monotonic() - before,
            tolerated=job.tolerated,
        ), left
    finally:
        stage.end(machine)


def _scripts(
    stage: Stage, job: Planned, machine: Machine, known: Mapping[str, str], kept: Mapping[str, Path]
) -> tuple[list[StepEnd], bool]:
    given = job.given
    number = machine.folder.name.rpartition("-")[2]
    variables = worked_out({**known, "CI_JOB_NAME": job.name, "CI_JOB_STAGE": job.stage, "CI_JOB_ID": number})
    steps: list[StepEnd] = []
    try:
        _image(stage, given.get("image"), variables, machine)
        clone(stage.origin, variables["CI_COMMIT_SHA"], int(variables.get("GIT_DEPTH", "20")), machine.workspace)
    except FailedError as error:
        steps.append(_step(stage, "image", str(error), (), 0.0))
        return steps, True
    for name, folder in kept.items():
        shutil.copytree(folder, machine.workspace, dirs_exist_ok=True)
        stage.say(f"  ok takes what {name} has left")
    environment = {
        **machine.environment(),
        "GITHUB_ACTIONS": "",
        **variables,
        "CI_PROJECT_DIR": str(machine.workspace),
        "CI_BUILDS_DIR": str(machine.workspace.parent),
    }
    environment = {name: value for name, value in environment.items() if not name.startswith(("GITHUB_", "RUNNER_OS"))}
    left = min(
        config.seconds(given["timeout"], job.place) if "timeout" in given else _HOUR, stage.order.timeout or _HOUR
    )
    failed = False
    main = [*config.lines(given.get("before_script")), *config.lines(given["script"])]
    for title, script in (("script", main), ("after_script", config.lines(given.get("after_script")))):
        if not script:
            continue
        # after_script has a shell of its own, runs whatever came before, and fails nothing.
        environment["CI_JOB_STATUS"] = "failed" if failed else "success"
        tail: deque[str] = deque(maxlen=_TAIL)
        began = time.monotonic()
        why = _shell(stage, machine, script, environment, seconds=left, tail=tail)
        steps.append(_step(stage, title, why, tuple(tail), time.monotonic() - began, tolerated=title == "after_script"))
        failed = failed or (bool(why) and title == "script")
        if machine.canary.exists():
            machine.canary.unlink()
            stage.found.add(job.place, f"{job.name}: text that others may write was executed as a script")
    return steps, failed


def _shell(
    stage: Stage,
    machine: Machine,
    script: list[str],
    environment: Mapping[str, str],
    *,
    seconds: float,
    tail: deque[str],
) -> str:
    path = machine.temp / f"{time.monotonic_ns()}.sh"
    path.write_text(_STRICT + "\n".join(script) + "\n")

    def line(one: str) -> None:
        seen = stage.masks.hide(one)
        tail.append(seen)
        if stage.order.show:
            stage.say(f"    | {seen}")

    code = shell.run(["bash", str(path)], environment=environment, folder=machine.workspace, seconds=seconds, line=line)
    return "" if code == 0 else f"its time was up after {seconds:.0f} s" if code is None else f"exit code {code}"


def _step(
    stage: Stage, title: str, why: str, tail: tuple[str, ...], seconds: float, *, tolerated: bool = False
) -> StepEnd:
    stage.say(f"  {'XX' if why else 'ok'} {title}  {seconds:.1f} s")
    for line in (why, *(f"| {one}" for one in tail)) if why else ():
        stage.say(f"     {line}")
    outcome = Result.FAILURE if why else Result.SUCCESS
    conclusion = Result.SUCCESS if tolerated else outcome
    return StepEnd(title=title, outcome=outcome, conclusion=conclusion, outputs={}, seconds=seconds, why=why, tail=tail)


def _image(stage: Stage, given: Any, variables: Mapping[str, str], machine: Machine) -> None:
    """No image is started: of python:3.11 that Python is put on the path, anything else is this machine."""
    name = given.get("name") if isinstance(given, dict) else given
    image = expanded(str(name or "none"), variables)
    stage.found.play(f"image {image}")
    base, _, tag = image.partition(":")
    if base.rpartition("/")[2] == "python":
        place = environment_of(tag.partition("-")[0], stage.pythons, machine.tools, stage.order.seed)
        machine.paths[:0] = [str(place / "bin")]


def _artifacts(
    stage: Stage, job: Planned, machine: Machine, known: Mapping[str, str], target: Path, *, failed: bool
) -> Path | None:
    given = job.given.get("artifacts") or {}
    when = given.get("when", "on_success")
    if not given or (when == "on_success" and failed) or (when == "on_failure" and not failed):
        return None
    wanted = [expanded(str(one), known) for one in given.get("paths") or ()]
    without = [f"!{expanded(str(one), known)}" for one in given.get("exclude") or ()]
    for pattern in wanted:
        if not _find(pattern, machine).files and not failed:
            stage.found.add(job.place, f"{job.name}: artifacts: paths: no file matches {pattern!r}")
    for kind, patterns in (given.get("reports") or {}).items():
        for pattern in [patterns] if isinstance(patterns, str) else patterns:
            if kind in ("junit", "dotenv") and not _find(expanded(pattern, known), machine).files and not failed:
                stage.found.add(job.place, f"{job.name}: artifacts: reports: {kind}: no file matches {pattern!r}")
    target.mkdir(parents=True)
    for path in _find("\n".join([*wanted, *without]), machine).files if wanted else ():
        to = target / path.relative_to(machine.workspace)
        to.parent.mkdir(parents=True, exist_ok=True)
        # GitLab's archives keep who may execute a file.
        shutil.copy(path, to)
    return target


def _find(patterns: str, machine: Machine) -> Selected:
    return select(patterns, machine.workspace, hidden=True)
