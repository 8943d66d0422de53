"""Finds the YAML files, the built-in ones and the project's own, and reads them into one catalog."""

from __future__ import annotations

from pathlib import Path

import stackproof
from stackproof.catalog.containers import check_needs, load_container
from stackproof.catalog.records import BesideSpec, Catalog, ServiceSpec, SetupSpec, StackSpec
from stackproof.catalog.services import load_service
from stackproof.catalog.setups import load_setups
from stackproof.catalog.stacks import load_stack
from stackproof.catalog.suites import Suites, load_suites
from stackproof.catalog.yaml_source import Section
from stackproof.errors import StackproofError


def builtin_folder() -> Path:
    """The folder of the built-in setups, stacks and services.

    In an installed wheel it is package data; in an editable install it is `stacks/` beside `runner/`.
    """
    package = Path(stackproof.__file__).resolve().parent
    for folder in (package / "_stacks", package.parent.parent / "stacks"):
        if (folder / "setups.yaml").is_file():
            return folder
    raise StackproofError("the built-in setups are missing from this installation", hint="install stackproof again")


def load(project: Path) -> Catalog:
    """Read built-in and project files; what the project names itself replaces the built-in of that name.

    UsageError with file and line when one of them is wrong.
    """
    setups: dict[str, SetupSpec] = {}
    stacks: dict[str, StackSpec] = {}
    services: dict[str, ServiceSpec] = {}
    containers: dict[str, tuple[BesideSpec, Section]] = {}
    for folder in _folders(project):
        if (folder / "setups.yaml").is_file():
            path = folder / "setups.yaml"
            setups |= load_setups(path, shown=_shown(path, project), known=setups)
        for path in sorted(folder.glob("*/stack.yaml")):
            stacks[path.parent.name] = load_stack(path, shown=_shown(path, project))
        for path in sorted(folder.glob("*/service.yaml")):
            services[path.parent.name] = load_service(path, shown=_shown(path, project))
        for path in sorted(folder.glob("*/container.yaml")):
            containers[path.parent.name] = load_container(path, shown=_shown(path, project))
    check_needs(containers)
    suites_file = project / "tests" / "suites.yaml"
    suites = load_suites(suites_file, shown=_shown(suites_file, project)) if suites_file.is_file() else Suites()
    return Catalog(
        setups=setups,
        stacks=stacks,
        services=services,
        containers={name: spec for name, (spec, _) in containers.items()},
        suites=suites.suites,
        integration_root=suites.root,
    )


def _folders(project: Path) -> list[Path]:
    builtin, own = builtin_folder(), project / "stacks"
    # In this project's own checkout both are the same folder.
    return [builtin] if not own.is_dir() or own.resolve() == builtin else [builtin, own]


def _shown(path: Path, project: Path) -> str:
    for base in (project, project.resolve(), builtin_folder().parent):
        if path.is_relative_to(base):
            return path.relative_to(base).as_posix()
    return str(path)
