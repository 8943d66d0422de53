"""Reads every expression of a workflow before anything runs: names that cannot be there are found in jobs that a
rehearsal skips, too. What GitHub would turn into an empty text without a word is found as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ci.rehearsal import availability
from ci.rehearsal.availability import Key
from ci.rehearsal.document import Document, Path
from ci.rehearsal.expressions import Call, Expression, ExpressionError, walk
from ci.rehearsal.expressions.functions import FUNCTIONS
from ci.rehearsal.expressions.syntax import Context, Index, Literal
from ci.rehearsal.model import Action, Job, Step, Workflow
from ci.rehearsal.problems import Found
from ci.rehearsal.template import condition, parts
from ci.rehearsal.writing import may_write


@dataclass(frozen=True, kw_only=True, slots=True)
class Names:
    """What may follow a context, in lower case; None: anything."""

    steps: Mapping[str, Step] | None = None
    needs: Mapping[str, frozenset[str] | None] | None = None
    inputs: frozenset[str] | None = None
    matrix: frozenset[str] | None = None


def check(workflow: Workflow, found: Found) -> None:
    """Add everything that is wrong with the expressions, the needs and the ids of a workflow."""
    document, names = workflow.document, Names(inputs=_inputs(workflow))
    _texts(document, ("env",), workflow.env, availability.ENV, names=names, found=found)
    for key, kind in (("run-name", availability.NAME), ("concurrency", availability.NAME)):
        _texts(document, (key,), document.data.get(key), kind, names=names, found=found)
    for name, output in (workflow.events.get("workflow_call", {}).get("outputs") or {}).items():
        path: Path = ("on", "workflow_call", "outputs", name, "value")
        _texts(document, path, output.get("value"), availability.CALL_OUTPUT, names=names, found=found)
    for job in workflow.jobs.values():
        _job(workflow, job, found)


def check_action(action: Action, found: Found) -> None:
    """The same for a composite action."""
    document, names = action.document, Names(inputs=frozenset(name.lower() for name in action.inputs))
    _steps(action.steps, names, found, keys=(availability.ACTION, availability.STEP_IF))
    ids = {step.id.lower(): step for step in action.steps if step.id}
    for name, value in action.outputs.items():
        path: Path = ("outputs", name, "value")
        _texts(document, path, value, availability.ACTION, names=Names(inputs=names.inputs, steps=ids), found=found)


def check_use(step: Step, action: Action, found: Found) -> None:
    """What a step hands to a composite action: inputs that it does not have, and those that it wants."""
    place = step.document.place((*step.path, "with"))
    given, known = {name.lower() for name in step.inputs}, {name.lower() for name in action.inputs}
    for name in sorted(given - known):
        found.add(place, f"{step.uses} has no input {name!r}; it has {', '.join(sorted(known)) or 'none'}")
    for name in sorted(action.required):
        if name.lower() not in given:
            found.add(place, f"{step.uses} wants the input {name!r}")


def _inputs(workflow: Workflow) -> frozenset[str]:
    declared = (workflow.events.get(event, {}).get("inputs") or {} for event in ("workflow_dispatch", "workflow_call"))
    return frozenset(name.lower() for inputs in declared for name in inputs)


def _job(workflow: Workflow, job: Job, found: Found) -> None:
    document = job.document
    unknown = [name for name in job.needs if name not in workflow.jobs]
    for name in unknown:
        found.add(document.place((*job.path, "needs")), f"the job {job.id!r} needs {name!r}, and there is no such job")
    needs = {
        name.lower(): None
        if workflow.jobs[name].uses
        else frozenset(one.lower() for one in workflow.jobs[name].outputs)
        for name in job.needs
        if name not in unknown
    }
    names = Names(needs=needs, inputs=_inputs(workflow), matrix=_matrix(job.matrix))
    data = document.data["jobs"][job.id]
    _condition(document, (*job.path, "if"), job.condition, availability.JOB_IF, names=names, found=found)
    _texts(document, (*job.path, "strategy"), data.get("strategy"), availability.JOB_STRATEGY, names=names, found=found)
    _texts(document, (*job.path, "env"), job.env, availability.JOB_ENV, names=names, found=found)
    _texts(document, (*job.path, "defaults"), data.get("defaults"), availability.JOB_DEFAULTS, names=names, found=found)
    _texts(document, (*job.path, "secrets"), job.secrets, availability.JOB_ENV, names=names, found=found)
    for key in ("name", "runs-on", "concurrency", "continue-on-error", "timeout-minutes", "with"):
        _texts(document, (*job.path, key), data.get(key), availability.JOB, names=names, found=found)
    _texts(document, (*job.path, "environment"), job.environment, availability.JOB, names=names, found=found)
    _steps(job.steps, names, found, keys=(availability.STEP, availability.STEP_IF))
    ids = {step.id.lower(): step for step in job.steps if step.id}
    with_steps = Names(needs=needs, inputs=names.inputs, matrix=names.matrix, steps=ids)
    _texts(document, (*job.path, "outputs"), job.outputs, availability.JOB_OUTPUT, names=with_steps, found=found)


def _matrix(given: Any) -> frozenset[str] | None:
    if not isinstance(given, dict) or isinstance(given.get("include"), str):
        return frozenset() if given is None else None
    included = {key for one in given.get("include") or () for key in one}
    return frozenset(key.lower() for key in {*given, *included} - {"include", "exclude"})


def _steps(steps: Iterable[Step], names: Names, found: Found, *, keys: tuple[Key, Key]) -> None:
    before: dict[str, Step] = {}
    for step in steps:
        now = Names(needs=names.needs, inputs=names.inputs, matrix=names.matrix, steps=dict(before))
        _condition(step.document, (*step.path, "if"), step.condition, keys[1], names=now, found=found)
        for key, value in (
            ("name", step.name),
            ("run", step.run),
            ("shell", step.shell),
            ("working-directory", step.working_directory),
            ("with", step.inputs),
            ("env", step.env),
            ("continue-on-error", step.continue_on_error),
            ("timeout-minutes", step.timeout),
        ):
            _texts(step.document, (*step.path, key), value, keys[0], names=now, found=found)
        if step.id:
            before[step.id.lower()] = step


def _condition(
    document: Document, path: Path, given: str | bool | None, key: Key, *, names: Names, found: Found
) -> None:
    try:
        tree = condition(given)
    except ExpressionError as error:
        found.add(document.place(path), str(error))
        return
    for problem in _problems(tree, key, names):
        found.add(document.place(path), problem)


def _texts(document: Document, path: Path, given: Any, key: Key, *, names: Names, found: Found) -> None:
    if isinstance(given, dict):
        for name, value in given.items():
            _texts(document, (*path, name), value, key, names=names, found=found)
    elif isinstance(given, list):
        for number, value in enumerate(given):
            _texts(document, (*path, number), value, key, names=names, found=found)
    elif isinstance(given, str):
        try:
            for part in parts(given):
                for problem in _problems(part.tree, key, names):
                    found.add(document.place(path, below=part.line), problem)
        except ExpressionError as error:
            found.add(document.place(path), str(error))


def _problems(tree: Expression, key: Key, names: Names) -> Iterator[str]:
    for one in walk(tree):
        match one:
            case Call(name=name):
                if name not in FUNCTIONS and name not in key.functions and name != "case":
                    yield f"the function {name!r} is unknown here"
            case Context(name=name):
                if name not in key.contexts:
                    yield f"the context {name!r} is not to be had here; these are: {', '.join(sorted(key.contexts))}"
            case Index():
                words = _words(one)
                if words[:1] and words[0] in key.contexts:
                    yield from _path_problems(words, names)
            case _:
                pass


def _words(tree: Expression) -> tuple[str, ...]:
    match tree:
        case Context(name=name):
            return (name,)
        case Index(of=of, index=Literal(value=str(name))):
            before = _words(of)
            return (*before, name.lower()) if before else ()
        case _:
            return ()


def _path_problems(words: tuple[str, ...], names: Names) -> Iterator[str]:
    match words:
        case ("steps", name) if names.steps is not None and name not in names.steps:
            yield f"no step before this one has the id {name!r}"
        case ("steps", _, what) if what not in ("outputs", "outcome", "conclusion"):
            yield f"a step has outputs, outcome and conclusion, and no {what!r}"
        case ("steps", name, "outputs", what) if names.steps is not None and name in names.steps:
            if not may_write(names.steps[name], what):
                yield f"the step {name!r} writes no output {what!r}"
        case ("needs", name) if names.needs is not None and name not in names.needs:
            yield f"{name!r} is not among the needs of this job"
        case ("needs", _, what) if what not in ("outputs", "result"):
            yield f"a job that is needed has outputs and a result, and no {what!r}"
        case ("needs", name, "outputs", what):
            known = (names.needs or {}).get(name)
            if known is not None and what not in known:
                yield f"the job {name!r} has no output {what!r}; it has {', '.join(sorted(known)) or 'none'}"
        case ("inputs", name) if names.inputs is not None and name not in names.inputs:
            yield f"no input is called {name!r}"
        case ("matrix", name) if names.matrix is not None and name not in names.matrix:
            yield f"the matrix has no {name!r}"
        case _:
            pass
