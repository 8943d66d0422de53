"""Writes down, before a cell starts anything, what its processes measure, and gives them the variables for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile
from typing import Any

from stackproof.catalog.records import StackMode
from stackproof.evidence import jsonfile
from stackproof.evidence.coverage import FOLDER, STACK, TESTS
from stackproof.measure import package, sources
from stackproof.measure.sources import Sources
from stackproof.options import RunOptions
from stackproof.plan import Cell
from stackproof.recorder.serve import measure
from stackproof.recorder.serve.exec_ import HANDS_ON

MARKS = "marks"
ASKED = "asked.json"

_HOOK = "stackproof_measure"
SITECUSTOMIZE = f'''"""Start coverage if a variable asks for it, then run the sitecustomize that this one shadows."""
import {_HOOK}

{_HOOK}.start()
{HANDS_ON}'''
# Of the section `run`, as the project has it. Where the data goes, and how processes save it, is decided here.
_TAKEN = ("branch", "core", "cover_pylib", "dynamic_context", "plugins", "timid")
# coverage would start itself, by a file that it wants for it, in processes that are measured already.
_NOT_TAKEN = "multiprocessing"


@dataclass(frozen=True, kw_only=True, slots=True)
class Measuring:
    """What a cell's processes are told. folder: on their path; it holds what starts coverage, and what it is told.

    None: nobody asked for coverage, and they are told nothing.
    """

    folder: Path | None = None

    def into(self, variables: Mapping[str, str], who: str) -> dict[str, str]:
        """Variables for a process of the tests or the stack."""
        if self.folder is None:
            return dict(variables)
        path = ":".join(filter(None, (str(self.folder), variables.get("PYTHONPATH"))))
        return {**variables, measure.VARIABLE: str(self.folder / f"{who}.json"), "PYTHONPATH": path}


def wanted(options: RunOptions) -> bool:
    """Whether anything is measured in this run."""
    return options.coverage is not None and options.tests and not options.collect_only


def prepare(cell: Cell, options: RunOptions, project: Path, cell_dir: Path) -> Measuring:
    """Write it into the cell's folder, which containers see; nothing where nobody asked for coverage.

    The current folder is the project. UsageError for paths or a configuration that cannot be.
    """
    if not wanted(options):
        return Measuring()
    found = package.of_project()
    here = _sources(cell, options, project, found)
    contained = cell.stack.docker if cell.mode.in_containers else None
    there = here
    if contained is not None:
        seen = cell.mode is StackMode.DOCKER_LIBRARY
        there = sources.inside(here, here=cell.stack.folder, there=contained.folder, seen=seen)
    folder, data = (cell_dir / "guest" / FOLDER).absolute(), (cell_dir / FOLDER).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    (data / MARKS).mkdir(parents=True, exist_ok=True)
    copyfile(Path(measure.__file__), folder / f"{_HOOK}.py")
    (folder / "sitecustomize.py").write_text(SITECUSTOMIZE, encoding="utf-8")
    shared = _options(found)
    in_tests = there if cell.mode is StackMode.DOCKER_LIBRARY else here
    for who, what in ((TESTS, in_tests), (STACK, there)):
        asked = {
            "who": who,
            "marks": str(data / MARKS),
            "data_file": str(data / who),
            "options": {**shared, **_limits(what, cell_dir), "run:context": f"{cell.id} {who}"},
            "required": who == TESTS,
        }
        jsonfile.write(folder / f"{who}.json", asked)
    apart = cell.mode in (StackMode.SERVER, StackMode.DOCKER, StackMode.REMOTE)
    where = (None, None) if contained is None else (cell.stack.folder, contained.folder)
    paths = sources.aliases(here, here=where[0], there=where[1])
    jsonfile.write(data / ASKED, {"schema": 1, "who": [TESTS, STACK] if apart else [TESTS], "paths": paths})
    return Measuring(folder=folder)


def _sources(cell: Cell, options: RunOptions, project: Path, found: Any) -> Sources:
    names = ("source", "source_pkgs", "source_dirs", "include", "omit")
    own = sources.configured({name: found.get_option(f"run:{name}") or () for name in names}, project)
    if options.coverage not in (None, sources.CONFIGURED):
        named = sources.named(options.coverage or "", project, options.origin("coverage"))
        return Sources(folders=named.folders, packages=named.packages, include=named.include, omit=own.omit)
    if own.anything:
        return own
    stack = (cell.stack.folder, *cell.stack.python_path) if cell.stack.url is None else ()
    by_default = sources.everything(project, stack, cell.integration_root)
    return Sources(folders=by_default.folders, omit=(*own.omit, *by_default.omit))


def _options(found: Any) -> dict[str, Any]:
    options = {f"run:{name}": value for name in _TAKEN if (value := found.get_option(f"run:{name}")) is not None}
    concurrency = [name for name in found.get_option("run:concurrency") or () if name != _NOT_TAKEN]
    return {
        **options,
        "run:concurrency": concurrency or ["thread"],
        "run:parallel": True,
        "run:patch": ["_exit"],
        "report:include_namespace_packages": found.get_option("report:include_namespace_packages"),
    }


def _limits(what: Sources, cell_dir: Path) -> dict[str, Any]:
    # The recorder lies in the run's folder, below the project.
    ours = (f"{cell_dir.absolute().parents[3]}/*",)
    return {
        "run:source": list(what.folders) or None,
        "run:source_pkgs": list(what.packages),
        "run:include": list(what.include) or None,
        "run:omit": [*what.omit, *ours],
    }
