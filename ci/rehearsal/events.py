"""What starts a workflow, as a job sees it: `github.event`, the ref, the commit.

The texts that others write, such as a title and a branch's name, are hostile on purpose: whoever puts them into a
script or prints them at the start of a line is found out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from ci.rehearsal.commands import CANARY
from ci.rehearsal.model import Workflow
from ci.rehearsal.order import Order
from ci.rehearsal.origin import HEAD_BRANCH, NUMBER, TAG, Origin

from stackproof.errors import UsageError

_TOUCH = '$(touch "$REHEARSAL_CANARY")'
# Executed whether it is pasted bare, between single or between double quotes.
TITLE = f"A '{_TOUCH}' {_TOUCH} {CANARY}"
BODY = f"Why.\n::error title={CANARY}::out of the text of a pull request\n##[error]{CANARY}\n"
FORK = "somebody/fork"


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """payload: `github.event`. ref and sha: what is checked out. trusted: whether secrets are handed out."""

    name: str
    payload: Mapping[str, Any]
    ref: str
    sha: str
    head_ref: str = ""
    base_ref: str = ""
    trusted: bool = True

    @property
    def ref_name(self) -> str:
        """The short name of the ref."""
        return self.ref.removeprefix("refs/heads/").removeprefix("refs/tags/").removeprefix("refs/pull/")


@dataclass(frozen=True, kw_only=True, slots=True)
class Before:
    """A run that ended, which starts another one. number: its id."""

    workflow: Workflow
    event: Event
    conclusion: str
    number: int


def make(order: Order, workflow: Workflow, origin: Origin, before: Before | None = None) -> Event:
    """The event that an order names, for one workflow. Raises UsageError."""
    common = {"repository": _repository(order.repository), "sender": {"login": "somebody", "type": "User"}}
    name = "workflow_run" if before is not None else order.event
    main, commit = "refs/heads/main", origin.commit
    match name:
        case "pull_request":
            payload = {"action": _action(workflow), "number": NUMBER, "pull_request": pull_request(order, origin)}
            if payload["action"] == "labeled" and order.labels:
                payload["label"] = {"name": order.labels[0]}
            ref = f"refs/pull/{NUMBER}/merge"
            trust = {"head_ref": HEAD_BRANCH, "base_ref": "main", "trusted": not order.fork}
            return Event(name=name, payload={**payload, **common}, ref=ref, sha=origin.merge, **trust)  # type: ignore[arg-type]
        case "merge_group":
            ref = f"refs/heads/gh-readonly-queue/main/pr-{NUMBER}-{origin.head}"
            group = {"head_ref": ref, "head_sha": origin.merge, "base_ref": main, "base_sha": commit}
            payload = {"action": "checks_requested", "merge_group": group}
            return Event(name=name, payload={**payload, **common}, ref=ref, sha=origin.merge)
        case "push":
            where = workflow.events["push"]
            ref = f"refs/tags/{TAG}" if "tags" in where and "branches" not in where else main
            payload = {"ref": ref, "before": origin.parent, "after": commit, "head_commit": {"id": commit}}
            return Event(name=name, payload={**payload, **common}, ref=ref, sha=commit)
        case "schedule":
            payload = {"schedule": cron(order, workflow)}
        case "workflow_dispatch":
            payload = {"ref": main, "inputs": inputs(order.inputs, workflow)}
        case "release":
            payload = {"action": "published", "release": {"tag_name": TAG, "name": TAG, "id": 1, "prerelease": False}}
            return Event(name=name, payload={**payload, **common}, ref=f"refs/tags/{TAG}", sha=commit)
        case "workflow_run" if before is not None:
            payload = {"action": "completed", "workflow_run": _run(before, order, origin)}
        case _:
            raise UsageError(
                f"the event {name!r} cannot be played by itself", hint="workflow_run follows the workflow that it names"
            )
    return Event(name=name, payload={**payload, **common}, ref=main, sha=commit)


def starts(workflow: Workflow, name: str) -> bool:
    """Whether an event of main, or of a tag, starts a workflow, by its filters of branches and tags."""
    if name not in workflow.events:
        return False
    where = workflow.events[name]
    kind, ref = (
        ("tags", TAG) if name == "push" and "tags" in where and "branches" not in where else ("branches", "main")
    )
    given = [str(one) for one in where.get(kind) or ("**",)]
    without = [one[1:] for one in given if one.startswith("!")] + [
        str(one) for one in where.get(f"{kind}-ignore") or ()
    ]
    wanted = [one for one in given if not one.startswith("!")] or ["**"]
    return any(fnmatchcase(ref, one) for one in wanted) and not any(fnmatchcase(ref, one) for one in without)


def cron(order: Order, workflow: Workflow) -> str:
    """The schedule that is played: the one asked for, else the first."""
    known = [one["cron"] for one in workflow.events["schedule"]["crons"]]
    if order.cron is not None and order.cron not in known:
        raise UsageError(f"{workflow.file} has no schedule {order.cron!r}; it has {', '.join(map(repr, known))}")
    return order.cron or str(known[0])


def inputs(given: Mapping[str, str], workflow: Workflow) -> dict[str, Any]:
    """Inputs of a start by hand, with their defaults and kinds. Raises UsageError."""
    declared = workflow.events.get("workflow_dispatch", {}).get("inputs") or {}
    for name in given:
        if name not in declared:
            known = ", ".join(declared) or "none"
            raise UsageError(f"{workflow.file} has no input {name!r}; it has {known}")
    made: dict[str, Any] = {}
    for name, one in declared.items():
        kind = (one or {}).get("type", "string")
        value = given.get(name, (one or {}).get("default"))
        if value is None and (one or {}).get("required"):
            raise UsageError(f"{workflow.file} wants the input {name!r}", hint=f"--input {name}=…")
        if kind == "choice" and value is None:
            value = one["options"][0]
        if kind == "choice" and value not in one["options"]:
            raise UsageError(f"{value!r} is no choice for the input {name!r}: {', '.join(map(str, one['options']))}")
        if kind == "boolean":
            if str(value or "false").lower() not in ("true", "false"):
                raise UsageError(f"the input {name!r} is true or false, not {value!r}")
            value = str(value or "false").lower() == "true"
        made[name] = "" if value is None else value
    return made


def _action(workflow: Workflow) -> str:
    """What happened to the pull request: it was opened, unless the workflow waits for something else."""
    types = workflow.events.get("pull_request", {}).get("types") or ["opened"]
    return "opened" if "opened" in types else str(types[0])


def _repository(full_name: str, *, fork: bool = False) -> dict[str, Any]:
    owner, _, name = full_name.partition("/")
    return {
        "full_name": full_name,
        "name": name,
        "owner": {"login": owner},
        "default_branch": "main",
        "fork": fork,
        "html_url": f"https://github.com/{full_name}",
        "clone_url": f"https://github.com/{full_name}.git",
    }


def pull_request(order: Order, origin: Origin) -> dict[str, Any]:
    """The one pull request that there is, as the API shows it."""
    source = _repository(FORK, fork=True) if order.fork else _repository(order.repository)
    return {
        "number": NUMBER,
        "title": TITLE,
        "body": BODY,
        "state": "open",
        "draft": False,
        "labels": [{"name": name} for name in order.labels],
        "user": {"login": "somebody"},
        "author_association": "NONE" if order.fork else "MEMBER",
        "head": {"ref": HEAD_BRANCH, "sha": origin.head, "repo": source, "label": f"somebody:{HEAD_BRANCH}"},
        "base": {"ref": "main", "sha": origin.commit, "repo": _repository(order.repository)},
        "merge_commit_sha": origin.merge,
        "html_url": f"https://github.com/{order.repository}/pull/{NUMBER}",
    }


def _run(before: Before, order: Order, origin: Origin) -> dict[str, Any]:
    """A run that ended. GitHub names no pull request where it came from a fork."""
    of_request = before.event.name == "pull_request"
    fork = of_request and not before.event.trusted
    head = {"ref": HEAD_BRANCH, "sha": origin.head}
    base = {"ref": "main", "sha": origin.commit}
    return {
        "id": before.number,
        "name": before.workflow.name,
        "path": before.workflow.file,
        "event": before.event.name,
        "status": "completed",
        "conclusion": before.conclusion,
        "head_sha": origin.head if of_request else before.event.sha,
        "head_branch": HEAD_BRANCH if of_request else before.event.ref_name,
        "head_repository": _repository(FORK, fork=True) if fork else _repository(order.repository),
        "repository": _repository(order.repository),
        "html_url": f"https://github.com/{order.repository}/actions/runs/{before.number}",
        "run_attempt": 1,
        "run_number": before.number,
        "pull_requests": [{"number": NUMBER, "head": head, "base": base}] if of_request and not fork else [],
        "display_title": TITLE if of_request else before.workflow.name,
        "actor": {"login": "somebody"},
    }
