"""What every command is handed, and how it finds the run that a person names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from stackproof.errors import UsageError
from stackproof.evidence import age, jsonfile

if TYPE_CHECKING:
    from stackproof.catalog.records import Catalog


class Surroundings(Protocol):
    """What the command line hands to every command."""

    @property
    def environ(self) -> Mapping[str, str]:
        """The caller's environment."""

    @property
    def project(self) -> Path:
        """The project's folder."""

    def catalog(self) -> Catalog:
        """Everything that can be named."""


def run_folder(project: Path, named: str | None) -> Path:
    """The folder of a run: by id, by path, or the newest; UsageError when there is none."""
    runs = runs_of(project)
    if named is not None:
        for folder in (runs / named, project / named):
            if folder.is_dir():
                _refuse_runs(folder, named)
                return folder
        raise UsageError(f"there is no run {named}", hint=f"runs lie in {runs.relative_to(project).as_posix()}/")
    newest = newest_run(project)
    if newest is None:
        raise UsageError("there is no run yet", hint="`stackproof verify-release` makes one")
    return newest


def newest_run(project: Path) -> Path | None:
    """The newest run that could hold cells of a policy; a live smoke is evidence beside it, and does not hide it."""
    found = sorted(runs_of(project).glob("*/manifest.json"), key=age.changed, reverse=True)
    runs = (path.parent for path in found)
    return next((run for run in runs if (jsonfile.read(run / "plan.json") or {}).get("kind") != "smoke"), None)


def runs_of(project: Path) -> Path:
    """The folder that has a folder for each run."""
    from stackproof.plan import RUNS  # noqa: PLC0415 - it loads what a plan needs

    return project / RUNS


def _refuse_runs(folder: Path, named: str) -> None:
    """UsageError for a folder of runs, which would be taken for a run that has left nothing."""
    if any((folder / name).exists() for name in ("manifest.json", "plan.json", "cells")):
        return
    for inside in ("*/", "*/*/"):
        if any(folder.glob(f"{inside}manifest.json")):
            raise UsageError(
                f"{named} is a folder of runs, not a run", hint=f"name the runs in it: {named.rstrip('/')}/{inside}"
            )
