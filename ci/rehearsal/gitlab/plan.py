"""Which jobs a pipeline has, and in what order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ci.rehearsal.expressions import ExpressionError
from ci.rehearsal.gitlab import config
from ci.rehearsal.gitlab.conditions import holds
from ci.rehearsal.gitlab.config import Config
from ci.rehearsal.gitlab.variables import worked_out
from ci.rehearsal.problems import Place, WorkflowError

_MOST_PARALLEL = 200
_WHEN = ("on_success", "on_failure", "always", "manual", "never", "delayed")


@dataclass(frozen=True, kw_only=True, slots=True)
class Planned:
    """A job of a pipeline. needs: None where it waits for all stages before its own; takes: whose artifacts it gets.

    parallel: how many times it runs, each with a number of its own; None where it is not parallel.
    """

    name: str
    stage: str
    when: str
    needs: tuple[str, ...] | None
    takes: tuple[str, ...] | None
    variables: Mapping[str, str]
    tolerated: bool
    given: Mapping[str, Any]
    place: Place
    parallel: int | None = None

    def instances(self) -> list[tuple[str, dict[str, str]]]:
        """Each time that it runs: what it is called then, and the variables that say which it is.

        https://docs.gitlab.com/ci/yaml/#parallel
        """
        if self.parallel is None:
            return [(self.name, {"CI_NODE_TOTAL": "1"})]
        return [
            (
                f"{self.name} {index}/{self.parallel}",
                {"CI_NODE_INDEX": str(index), "CI_NODE_TOTAL": str(self.parallel)},
            )
            for index in range(1, self.parallel + 1)
        ]


@dataclass(frozen=True, kw_only=True, slots=True)
class Pipeline:
    """jobs: in an order in which they can run. absent: those that rules leave out, with why."""

    variables: Mapping[str, str]
    jobs: tuple[Planned, ...]
    absent: Mapping[str, str]


def plan(loaded: Config, given: Mapping[str, str], exists: Callable[[str], bool]) -> Pipeline | None:
    """The pipeline for variables that come from outside; None where its own rules want none. Raises WorkflowError."""
    around = {**loaded.variables, **given}
    top = loaded.places.get("workflow", loaded.places[""])
    if loaded.workflow is not None:
        chosen = _rule(loaded.workflow, around, top, exists)
        if chosen is None or chosen.get("when") == "never":
            return None
        around = {**loaded.variables, **config.variables(chosen.get("variables") or {}), **given}
    jobs, absent = [], {}
    for name, job in loaded.jobs.items():
        planned = _job(name, job, around, loaded, exists)
        if isinstance(planned, str):
            absent[name] = planned
        else:
            jobs.append(planned)
    if not jobs:
        raise WorkflowError(top, "the pipeline has no job: every one is left out by its rules")
    return Pipeline(variables=around, jobs=_sorted(jobs, absent, loaded), absent=absent)


def _job(
    name: str, job: Mapping[str, Any], around: Mapping[str, str], loaded: Config, exists: Callable[[str], bool]
) -> Planned | str:
    place = loaded.places[name]
    own = config.variables(job.get("variables") or {})
    when, tolerated = job.get("when", "on_success"), bool(job.get("allow_failure", False))
    if "rules" in job:
        rule = _rule(job["rules"], {**around, **own}, place, exists)
        if rule is None:
            return "none of its rules holds"
        when = rule.get("when", when)
        tolerated = bool(rule.get("allow_failure", tolerated))
        own = {**own, **config.variables(rule.get("variables") or {})}
    if when not in _WHEN:
        raise WorkflowError(place, f"{name}: 'when' is not {when!r}")
    if when == "never":
        return "its rule says never"
    stage = job.get("stage", "test")
    if stage not in loaded.stages:
        raise WorkflowError(place, f"{name}: there is no stage {stage!r}; there are {', '.join(loaded.stages)}")
    needs, takes = _needs(job, place)
    return Planned(
        name=name,
        stage=stage,
        when=when,
        needs=needs,
        takes=takes,
        variables=own,
        tolerated=tolerated,
        given=job,
        place=place,
        parallel=_parallel(name, job, place),
    )


def _parallel(name: str, job: Mapping[str, Any], place: Place) -> int | None:
    given = job.get("parallel")
    if given is None:
        return None
    if isinstance(given, dict):
        raise WorkflowError(place, f"{name}: 'parallel: matrix' is not played")
    if not isinstance(given, int) or isinstance(given, bool) or not 1 <= given <= _MOST_PARALLEL:
        raise WorkflowError(place, f"{name}: 'parallel' is a number from 1 to {_MOST_PARALLEL}, not {given!r}")
    return given


def _needs(job: Mapping[str, Any], place: Place) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
    takes = tuple(job["dependencies"]) if "dependencies" in job else None
    if "needs" not in job:
        return None, takes
    names, kept = [], []
    for one in job["needs"]:
        entry = {"job": one} if isinstance(one, str) else one
        if not set(entry) <= {"job", "artifacts", "optional"}:
            raise WorkflowError(place, f"'needs' with {', '.join(sorted(entry))} is not played")
        names.append(f"{entry['job']}?" if entry.get("optional") else entry["job"])
        if entry.get("artifacts", True):
            kept.append(entry["job"])
    return tuple(names), takes if takes is not None else tuple(kept)


def _sorted(jobs: list[Planned], absent: Mapping[str, str], loaded: Config) -> tuple[Planned, ...]:
    by_name = {job.name: job for job in jobs}
    made: dict[str, Planned] = {}

    def before(job: Planned) -> list[Planned]:
        if job.needs is None:
            at = loaded.stages.index(job.stage)
            return [one for one in jobs if loaded.stages.index(one.stage) < at]
        found = []
        for need in job.needs:
            name = need.removesuffix("?")
            if name in by_name:
                found.append(by_name[name])
            elif not need.endswith("?"):
                why = f"it is left out: {absent[name]}" if name in absent else "there is no such job"
                raise WorkflowError(
                    job.place, f"the job {job.name!r} needs {name!r}, and {why}; GitLab makes no pipeline"
                )
        return found

    def add(job: Planned, below: tuple[str, ...]) -> None:
        if job.name in below:
            raise WorkflowError(job.place, f"jobs need each other in a circle: {' → '.join(below)}")
        for one in before(job):
            if one.name not in made:
                add(one, (*below, job.name))
        made.setdefault(job.name, job)

    for job in sorted(jobs, key=lambda one: loaded.stages.index(one.stage)):
        add(job, ())
    return tuple(made.values())


def _rule(
    rules: Any, variables: Mapping[str, str], place: Place, exists: Callable[[str], bool]
) -> Mapping[str, Any] | None:
    """The first rule that holds. What would be asked of changes is taken to have changed."""
    known = worked_out(variables)
    for rule in rules:
        unknown = set(rule) - {
            "if",
            "when",
            "variables",
            "allow_failure",
            "changes",
            "exists",
            "interruptible",
            "needs",
        }
        if unknown:
            raise WorkflowError(place, f"a rule has no {', '.join(sorted(unknown))}")
        try:
            if "if" in rule and not holds(str(rule["if"]), known):
                continue
        except ExpressionError as error:
            raise WorkflowError(place, f"{rule['if']}: {error}") from None
        if "exists" in rule and not any(exists(one) for one in rule["exists"]):
            continue
        return rule  # type: ignore[no-any-return]
    return None
