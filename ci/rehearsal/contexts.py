"""The contexts that expressions name, and what they say of a name that is not there."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ci.rehearsal.artifacts import select
from ci.rehearsal.events import Event
from ci.rehearsal.expressions import ExpressionError, Value, text
from ci.rehearsal.fake_gh import TOKEN
from ci.rehearsal.model import Workflow
from ci.rehearsal.order import Result
from ci.rehearsal.results import JobEnd, StepEnd
from ci.rehearsal.stage import Stage

# Known to GitHub and of no use here: they are not there, and that is no mistake.
_EMPTY = (
    "action_ref", "action_repository", "action_status", "env", "path", "output", "state", "step_summary",
    "secret_source",
)  # fmt: skip
_CLOSED = ("github", "runner", "job", "strategy")


def github(stage: Stage, workflow: Workflow, event: Event, run: int, job: str = "") -> dict[str, Any]:
    """`github`, without what a machine adds."""
    owner = stage.order.repository.partition("/")[0]
    return {
        "token": TOKEN,
        "job": job,
        "ref": event.ref,
        "ref_name": event.ref_name,
        "ref_type": "tag" if event.ref.startswith("refs/tags/") else "branch",
        "ref_protected": event.ref == "refs/heads/main",
        "sha": event.sha,
        "repository": stage.order.repository,
        "repository_id": "1",
        "repository_owner": owner,
        "repository_owner_id": "1",
        "repository_visibility": "private",
        "repositoryUrl": f"git://github.com/{stage.order.repository}.git",
        "run_id": str(run),
        "run_number": str(run),
        "run_attempt": "1",
        "retention_days": "90",
        "actor": "somebody",
        "actor_id": "2",
        "triggering_actor": "somebody",
        "workflow": workflow.name,
        "workflow_ref": f"{stage.order.repository}/{workflow.file}@{event.ref}",
        "workflow_sha": event.sha,
        "job_workflow_sha": event.sha,
        "head_ref": event.head_ref,
        "base_ref": event.base_ref,
        "event_name": event.name,
        "event": event.payload,
        "event_path": "",
        "server_url": "https://github.com",
        "api_url": "https://api.github.com",
        "graphql_url": "https://api.github.com/graphql",
        "workspace": "",
        "action": "",
        "action_path": "",
        **dict.fromkeys(_EMPTY, ""),
    }


def variables(github_context: Mapping[str, Any]) -> dict[str, str]:
    """`github` as the variables that every step has."""
    names = (
        "job", "ref", "ref_name", "ref_type", "ref_protected", "sha", "repository", "repository_id", "repository_owner",
        "repository_owner_id", "run_id", "run_number", "run_attempt", "retention_days", "actor", "actor_id",
        "triggering_actor", "workflow", "workflow_ref", "workflow_sha",
        "head_ref", "base_ref", "event_name", "event_path",
        "server_url", "api_url", "graphql_url", "workspace", "action", "action_path",
    )  # fmt: skip
    made = {f"GITHUB_{name.upper()}": text(github_context[name]) for name in names}
    return {name: value for name, value in made.items() if value or name in ("GITHUB_HEAD_REF", "GITHUB_BASE_REF")}


def needs(names: Sequence[str], ends: Mapping[str, JobEnd]) -> dict[str, Any]:
    """`needs`."""
    return {name: {"result": ends[name].result.value, "outputs": dict(ends[name].outputs)} for name in names}


def steps(ends: Mapping[str, StepEnd]) -> dict[str, Any]:
    """`steps`, of those with an id that are over."""
    return {
        name: {"outcome": end.outcome.value, "conclusion": end.conclusion.value, "outputs": dict(end.outputs)}
        for name, end in ends.items()
    }


def absent(
    stage: Stage, ends: Mapping[str, StepEnd], wrong: Callable[[str], None]
) -> Callable[[tuple[str, ...]], None]:
    """Told of each name that is not there. An output that a step has not written is what a typo looks like."""

    def tell(path: tuple[str, ...]) -> None:
        match path:
            case (context, name) if context in _CLOSED:
                raise ExpressionError(f"the context {context!r} has no {name!r}")
            case ("secrets", name):
                stage.absent_secrets.add(name)
            case ("steps", step, "outputs", name):
                end = next((end for key, end in ends.items() if key.lower() == step.lower()), None)
                if end is not None and end.outcome is Result.SUCCESS and not end.may_write(name.lower()):
                    wrote = ", ".join(sorted(end.outputs)) or "none"
                    wrong(f"the step {step!r} has succeeded and has no output {name!r}; it wrote: {wrote}")
            case _:
                pass

    return tell


def hash_files(workspace: Path) -> Callable[[Sequence[Value]], Value]:
    """`hashFiles`: a digest over the digests of the files; empty where there is none."""

    def ask(given: Sequence[Value]) -> Value:
        if not given:
            raise ExpressionError("hashFiles() takes at least one pattern")
        files = select("\n".join(text(one) for one in given), workspace, hidden=True).files
        whole = hashlib.sha256()
        for path in files:
            whole.update(hashlib.sha256(path.read_bytes()).digest())
        return whole.hexdigest() if files else ""

    return ask
