"""The project's files: whether they can be read, and what a plain `stackproof run` would do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stackproof.catalog.records import Catalog
from stackproof.doctor.finding import Finding, odd, ok, refused
from stackproof.doctor.place import Place, is_project
from stackproof.errors import StackproofError
from stackproof.plaintext import counted

_DEEP = 4  # folders that are looked at above and below


@dataclass(frozen=True, kw_only=True, slots=True)
class ProjectFacts:
    """cells: titles of what a plain run would run. near: a folder above or below this one that is a project.

    error: what a plain run would end with. counts: own suites, stacks and setups. unmet: file of a stack, and what its
    `lacks` names that is not there.
    """

    is_project: bool
    near: str | None = None
    cells: tuple[str, ...] = ()
    mode: str = "replay"
    error: StackproofError | None = None
    counts: tuple[int, int, int] = (0, 0, 0)
    misplaced: tuple[str, ...] = ()
    unmet: tuple[tuple[str, str], ...] = ()


def look(place: Place) -> ProjectFacts:
    """Read the files as a run would, and plan that run."""
    chosen = place.chosen
    if not place.is_project:
        return ProjectFacts(is_project=False, near=_near(place), error=chosen.error)
    known, planned = chosen.known, chosen.planned
    counts = (0, 0, 0)
    if known is not None:
        own = [
            sum(spec.source.is_relative_to(place.project) for spec in specs.values())
            for specs in (known.suites, known.stacks, known.setups)
        ]
        counts = (own[0], own[1], own[2])
    return ProjectFacts(
        is_project=True,
        cells=tuple(cell.title for cell in planned.cells) if planned is not None else (),
        mode=planned.options.inference_mode if planned is not None else "replay",
        error=chosen.error,
        counts=counts,
        misplaced=tuple(_misplaced(place.project)),
        unmet=tuple(_unmet(place.project, known)) if known is not None else (),
    )


def judge(facts: ProjectFacts) -> Iterator[Finding]:
    """Can a run be planned?"""
    if not facts.is_project:
        said = "there is no project here: neither tests/suites.yaml nor stacks/ names anything"
        remedy = f"`cd {facts.near}`, which is one" if facts.near else "`stackproof init` makes one of your repository"
        yield odd("project.none", "project", said, remedy)
        if facts.error is not None:
            yield refused("project.files", "project", facts.error, "correct that file")
        return
    if facts.error is not None:
        yield refused("project.files", "project", facts.error, "correct that file")
    else:
        suites, stacks, setups = facts.counts
        own = f"{counted(suites, 'suite')}, {counted(stacks, 'stack')} and {counted(setups, 'setup')} of its own"
        yield ok("project.plan", "project", f"{own}; a plain run is {', '.join(facts.cells)}, {facts.mode}")
    for name in facts.misplaced:
        yield odd(
            "project.misplaced",
            name,
            "is not read where it lies",
            "stacks and setups belong below stacks/ (stacks/NAME/stack.yaml, stacks/setups.yaml), suites into "
            "tests/suites.yaml",
        )
    for name, path in facts.unmet:
        yield odd(
            "project.lacks",
            name,
            f"'lacks' names {path}, and there is no such file or folder: no test is skipped for it",
            "correct the path, which is relative to the project, or take the line out",
        )


def _near(place: Place) -> str | None:
    for folder in place.project.parents[:_DEEP]:
        if is_project(folder):
            return place.short(folder)
    try:
        below = sorted(path for path in place.project.iterdir() if path.is_dir() and not path.name.startswith("."))
    except OSError:
        return None
    return next((path.name for path in below[:200] if is_project(path)), None)


def _unmet(project: Path, known: Catalog) -> Iterator[tuple[str, str]]:
    """Of the project's own stacks: what a plan for one does not ask, since a container may have only part of it."""
    for spec in known.stacks.values():
        if not spec.source.is_relative_to(project):
            continue
        for nodeid in spec.lacks:
            path = nodeid.partition("::")[0]
            if not (project / path).exists():
                yield spec.source.relative_to(project).as_posix(), path


def _misplaced(project: Path) -> Iterator[str]:
    """Files with a name of ours where nobody reads them."""
    for name in (
        "stack.yaml",
        "suites.yaml",
        "setups.yaml",
        "stacks/stack.yaml",
        "stacks/suites.yaml",
        "tests/setups.yaml",
    ):
        if (project / name).is_file():
            yield name
    for name in ("tests/suites.yml", "stacks/setups.yml", "ci/release.yml", "ci/matrix.yml"):
        if (project / name).is_file() and not (project / name).with_suffix(".yaml").exists():
            yield name
    yield from (path.relative_to(project).as_posix() for path in sorted(project.glob("stacks/*/stack.yml")))
