"""Finds the composite actions of the repository."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from ci.rehearsal import reading
from ci.rehearsal.check import check_action
from ci.rehearsal.job_state import JobState
from ci.rehearsal.model import Action, Step
from ci.rehearsal.origin import Origin
from ci.rehearsal.problems import WorkflowError

DEEPEST = 10


def load(step: Step, job: JobState, depth: int) -> tuple[Action, Path] | str:
    """The action and its folder; a sentence where a runner would not find it."""
    uses = step.uses or ""
    if depth >= DEEPEST:
        raise WorkflowError(step.document.place(step.path), f"actions use each other {DEEPEST} levels deep")
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


def of_commit(uses: str, origin: Origin, revision: str) -> Action | None:
    """A composite action as it is at a commit; None for one that is not of this repository, or not there."""
    if not uses.startswith(("./", "$/")):
        return None
    for name in ("action.yml", "action.yaml"):
        path = str(PurePosixPath(uses[2:]) / name)
        content = origin.show(path, revision)
        if content is not None:
            return reading.action(content, path)
    return None


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
