"""Reads workflows and composite actions, and refuses every key that it does not know.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ci.rehearsal.document import Document, Path, plain, read_github
from ci.rehearsal.model import Action, Job, Step, Workflow
from ci.rehearsal.problems import WorkflowError

EVENTS = (
    "pull_request",
    "merge_group",
    "push",
    "schedule",
    "workflow_dispatch",
    "workflow_run",
    "release",
    "workflow_call",
)
# They start a workflow, and are not played: what else the file is started by may be.
_OTHER_EVENTS = frozenset(
    {"issue_comment", "issues", "pull_request_target", "pull_request_review", "repository_dispatch"}
)
_WORKFLOW = frozenset({"name", "run-name", "on", "permissions", "env", "defaults", "concurrency", "jobs"})
_JOB = frozenset(
    {
        "name", "needs", "if", "runs-on", "env", "outputs", "steps", "strategy", "defaults", "environment",
        "permissions",
        "continue-on-error", "timeout-minutes", "uses", "with", "secrets", "concurrency",
    }
)  # fmt: skip
_STEP = frozenset(
    {
        "id",
        "name",
        "uses",
        "run",
        "shell",
        "working-directory",
        "if",
        "with",
        "env",
        "continue-on-error",
        "timeout-minutes",
    }
)
_ACTION = frozenset({"name", "description", "author", "branding", "inputs", "outputs", "runs"})
_ID = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_SCOPES = frozenset(
    {
        "actions", "attestations", "checks", "contents", "deployments", "discussions", "id-token", "issues", "models",
        "packages", "pages", "pull-requests", "repository-projects", "security-events", "statuses",
    }
)  # fmt: skip


def workflow(text: str, file: str) -> Workflow:
    """A workflow from its text. Raises WorkflowError."""
    document = read_github(text, file)
    data = _mapping(document, (), document.data, _WORKFLOW)
    for needed in ("on", "jobs"):
        if needed not in data:
            raise WorkflowError(document.place(()), f"the key {needed!r} is missing")
    defaults = _run_defaults(document, ("defaults",), data.get("defaults"))
    jobs = _mapping(document, ("jobs",), data["jobs"])
    events = _events(document, data["on"])
    if not jobs:
        raise WorkflowError(document.place(("jobs",)), "there is no job")
    return Workflow(
        document=document,
        name=str(data.get("name", file)),
        events=events,
        env=_mapping(document, ("env",), data.get("env")),
        permissions=_permissions(document, ("permissions",), data.get("permissions")),
        jobs={name: _job(document, name, job, defaults) for name, job in jobs.items()},
    )


def action(text: str, file: str) -> Action:
    """A composite action from the text of its action.yml. Raises WorkflowError."""
    document = read_github(text, file)
    data = _mapping(document, (), document.data, _ACTION)
    runs = _mapping(document, ("runs",), data.get("runs"))
    if runs.get("using") != "composite":
        raise WorkflowError(document.place(("runs",)), f"only composite actions are played, not {runs.get('using')!r}")
    inputs = {
        name: _mapping(document, ("inputs", name), one)
        for name, one in _mapping(document, ("inputs",), data.get("inputs")).items()
    }
    outputs = _mapping(document, ("outputs",), data.get("outputs"))
    return Action(
        document=document,
        inputs={name: None if "default" not in one else plain(one["default"]) for name, one in inputs.items()},
        required=frozenset(name for name, one in inputs.items() if one.get("required") and "default" not in one),
        outputs={
            name: str(_mapping(document, ("outputs", name), one).get("value", "")) for name, one in outputs.items()
        },
        steps=_steps(document, ("runs", "steps"), runs.get("steps"), composite=True),
    )


def _events(document: Document, given: Any) -> Mapping[str, Mapping[str, Any]]:
    names = [given] if isinstance(given, str) else given
    events = {str(name): {} for name in names} if isinstance(names, list) else _mapping(document, ("on",), given)
    for name in events:
        if name not in EVENTS and name not in _OTHER_EVENTS:
            raise WorkflowError(document.place(("on", name)), f"the event {name!r} is unknown")
    made = {name: {"crons": one} if name == "schedule" else one or {} for name, one in events.items()}
    for name, one in made.items():
        _mapping(document, ("on", name), one)
    for number, one in enumerate(made.get("schedule", {}).get("crons") or ()):
        cron = one.get("cron") if isinstance(one, dict) else None
        if not isinstance(cron, str) or len(cron.split()) != 5:
            raise WorkflowError(document.place(("on", "schedule", number)), f"this is no schedule: {one!r}")
    return made


def _job(document: Document, name: str, given: Any, defaults: Mapping[str, Any]) -> Job:
    path: Path = ("jobs", name)
    if not _ID.fullmatch(name):
        raise WorkflowError(document.place(path), f"a job cannot be called {name!r}")
    data = _mapping(document, path, given, _JOB)
    if ("uses" in data) == ("steps" in data):
        raise WorkflowError(document.place(path), "a job has either 'steps' or 'uses'")
    if "steps" in data and "runs-on" not in data:
        raise WorkflowError(document.place(path), "the key 'runs-on' is missing")
    needs = data.get("needs", [])
    strategy = _mapping(
        document, (*path, "strategy"), data.get("strategy"), frozenset({"matrix", "fail-fast", "max-parallel"})
    )
    own = {**defaults, **_run_defaults(document, (*path, "defaults"), data.get("defaults"))}
    environment = data.get("environment")
    return Job(
        document=document,
        path=path,
        id=name,
        name=data.get("name"),
        needs=(needs,) if isinstance(needs, str) else tuple(needs),
        condition=data.get("if"),
        env=_mapping(document, (*path, "env"), data.get("env")),
        outputs=_mapping(document, (*path, "outputs"), data.get("outputs")),
        steps=_steps(document, (*path, "steps"), data.get("steps")) if "steps" in data else (),
        matrix=strategy.get("matrix"),
        fail_fast=strategy.get("fail-fast", True),
        shell=own.get("shell"),
        working_directory=own.get("working-directory"),
        environment=environment.get("name") if isinstance(environment, dict) else environment,
        permissions=_permissions(document, (*path, "permissions"), data.get("permissions")),
        continue_on_error=data.get("continue-on-error", False),
        timeout=data.get("timeout-minutes", 360),
        uses=data.get("uses"),
        inputs=_mapping(document, (*path, "with"), data.get("with")),
        secrets=data["secrets"] if data.get("secrets") == "inherit" else _mapping(document, path, data.get("secrets")),
    )


def _steps(document: Document, path: Path, given: Any, *, composite: bool = False) -> tuple[Step, ...]:
    if not isinstance(given, list) or not given:
        raise WorkflowError(document.place(path), "there is no step")
    made = [_step(document, (*path, number), number, one, composite=composite) for number, one in enumerate(given)]
    ids = [step.id for step in made if step.id]
    for step in made:
        if step.id and ids.count(step.id) > 1:
            raise WorkflowError(document.place(step.path), f"two steps have the id {step.id!r}")
    return tuple(made)


def _step(document: Document, path: Path, number: int, given: Any, *, composite: bool) -> Step:
    data = _mapping(document, path, given, _STEP)
    place = document.place(path)
    if ("uses" in data) == ("run" in data):
        raise WorkflowError(place, "a step has either 'uses' or 'run'")
    if composite and "run" in data and "shell" not in data:
        raise WorkflowError(place, "a step of a composite action has to name its 'shell'")
    if "run" not in data and ("shell" in data or "working-directory" in data):
        raise WorkflowError(place, "'shell' and 'working-directory' are for steps with 'run'")
    if "with" in data and "run" in data:
        raise WorkflowError(place, "'with' is for steps with 'uses'")
    if "id" in data and not _ID.fullmatch(str(data["id"])):
        raise WorkflowError(place, f"a step cannot have the id {data['id']!r}")
    return Step(
        document=document,
        path=path,
        number=number,
        id=data.get("id"),
        name=data.get("name"),
        uses=data.get("uses"),
        run=data.get("run"),
        shell=data.get("shell"),
        working_directory=data.get("working-directory"),
        condition=data.get("if"),
        inputs=_mapping(document, (*path, "with"), data.get("with")),
        env=_mapping(document, (*path, "env"), data.get("env")),
        continue_on_error=data.get("continue-on-error", False),
        timeout=data.get("timeout-minutes"),
    )


def _run_defaults(document: Document, path: Path, given: Any) -> Mapping[str, Any]:
    run = _mapping(document, path, given, frozenset({"run"})).get("run")
    return _mapping(document, (*path, "run"), run, frozenset({"shell", "working-directory"}))


def _permissions(document: Document, path: Path, given: Any) -> Mapping[str, str] | None:
    """By scope; of `read-all` and `write-all` every scope."""
    if given is None:
        return None
    if given in ("read-all", "write-all"):
        return dict.fromkeys(_SCOPES, given.partition("-")[0])
    data = _mapping(document, path, given, _SCOPES)
    for scope, level in data.items():
        if level not in ("read", "write", "none"):
            raise WorkflowError(document.place((*path, scope)), f"{level!r} is no permission")
    return data


def _mapping(document: Document, path: Path, given: Any, known: frozenset[str] | None = None) -> Mapping[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, dict) or any(not isinstance(key, str) for key in given):
        raise WorkflowError(document.place(path), "a mapping belongs here")
    for key in given:
        if known is not None and key not in known:
            hint = f"known are {', '.join(sorted(known))}"
            raise WorkflowError(document.place((*path, key)), f"the key {key!r} is unknown here", hint=hint)
    return given
