"""Finds the composite actions of the repository."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from ci.rehearsal import reading
from ci.rehearsal.check import check_action
from ci.rehearsal.job_state import JobState
from ci.rehearsal.model import Action, Step
from ci.rehearsal.problems import WorkflowError

_DEEPEST = 10


def load(step: Step, job: JobState, depth: int) -> tuple[Action, Path] | str:
    """The action and its folder; a sentence where a runner would not find it."""
    uses = step.uses or ""
    if depth >= _DEEPEST:
        raise WorkflowError(step.document.place(step.path), f"actions use each other {_DEEPEST} levels deep")
    folder = str(PurePosixPath(uses[2:]))
    if uses.startswith("$/"):
        # The commit that the workflow itself is of; nothing needs to be checked out.
        found = _of_commit(folder, job)
        root = job.machine.folder / "self"
    else:
        found = _of_workspace(folder, job.machine.workspace)
        root = job.machine.workspace
    if found is None:
        why = "" if uses.startswith("$/") else "; is the repository checked out before this step?"
        return f"{uses} has no action.yml{why}"
    name, content = found
    action = reading.action(content, name)
    check_action(action, job.stage.found)
    return action, root / folder


def _of_commit(folder: str, job: JobState) -> tuple[str, str] | None:
    for name in ("action.yml", "action.yaml"):
        content = job.stage.origin.show(f"{folder}/{name}", job.event.sha)
        if content is not None:
            job.stage.origin.lay_out(folder, job.event.sha, job.machine.folder / "self")
            return f"{folder}/{name}", content
    return None


def _of_workspace(folder: str, workspace: Path) -> tuple[str, str] | None:
    for name in ("action.yml", "action.yaml"):
        path = workspace / folder / name
        if path.is_file():
            return f"{folder}/{name}", path.read_text()
    return None
