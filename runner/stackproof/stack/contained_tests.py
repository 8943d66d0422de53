"""Tests and library in one container: pytest runs where the image's own Python and packages are."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from shutil import copyfile

import stackproof
from stackproof import catalog
from stackproof.catalog.records import StackSpec
from stackproof.errors import DockerError, UsageError
from stackproof.stack import enter, place, start
from stackproof.stack.container import Container, no_names
from stackproof.stack.engine_records import ContainerSpec, Mount
from stackproof.stack.place import Place

_LIB = "/stackproof/lib"


class ContainedTests:
    """pytest in a container, as `suite.run` runs it."""

    def __init__(self, container: Container, given: Mapping[str, str], python: str, *, shut: bool) -> None:
        self._container, self._given, self._python, self._shut = container, given, python, shut

    def start(self) -> None:
        """Start it; StackStartError when the container does not take its variables."""
        self._container.start(self._given, self._python, shut="shut" if self._shut else None)

    def poll(self) -> int | None:
        """Exit code, or None while it runs."""
        return self._container.poll()

    def signal(self, signum: int) -> None:
        """Send it a signal."""
        self._container.signal(signum)

    def stop(self, grace: float = 5.0) -> None:
        """End it and remove it."""
        self._container.stop(grace)


def make(
    stack: StackSpec,
    where: Place,
    *,
    arguments: Sequence[str],
    variables: Mapping[str, str],
    project: Path,
    cell_dir: Path,
    recordings: Path,
    records: bool,
    shown: bool,
) -> ContainedTests:
    """The tests of a cell, not started yet.

    arguments: what follows `python` on pytest's command line. variables: of pytest and the library, secrets among
    them. records: the plugin in there puts recordings in place. shown: what it writes goes to our output too.
    """
    docker = stack.docker
    if docker is None:
        raise UsageError(f"stack {stack.name!r} has no `docker` section", hint=f"add it to {stack.source}")
    guest = cell_dir / "guest"
    guest.mkdir(exist_ok=True)
    script = guest / "enter.py"
    copyfile(Path(enter.__file__), script)
    given = {
        **variables,
        start.INSIDE: "1",
        "PYTHONPATH": ":".join(filter(None, (_LIB, variables.get("PYTHONPATH")))),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": variables.get("HOME", "/tmp"),  # noqa: S108 - the container's own
    }
    container = Container(
        where.engine,
        ContainerSpec(
            name=where.name(f"{stack.name}-tests"),
            image=where.image,
            entrypoint=(),
            command=(docker.python, str(script), "run", "--", docker.python, *arguments),
            labels=where.labels,
            user=place.caller(where.engine),
            working_dir=str(project),
            network=where.network,
            hosts=where.hosts,
            mounts=(
                Mount(source=place.shared(project), target=str(project), read_only=True),
                Mount(source=place.shared(cell_dir), target=str(cell_dir.absolute())),
                Mount(source=place.shared(recordings), target=str(recordings.absolute()), read_only=not records),
                *_ourselves(),
                *no_names(guest, where),
            ),
            tmpfs=(enter.FOLDER,),
            capabilities=("NET_ADMIN",) if where.internal else (),
        ),
        name="pytest",
        log=cell_dir / "pytest.log",
        shown=shown,
    )
    return ContainedTests(container, given, docker.python, shut=where.internal)


def _ourselves() -> tuple[Mount, ...]:
    """This very package, its built-in stacks, and what makes pytest find its plugin."""
    package = Path(stackproof.__file__).resolve().parent
    mounts = [Mount(source=str(package), target=f"{_LIB}/stackproof", read_only=True)]
    stacks = catalog.builtin_folder()
    if not stacks.is_relative_to(package):
        mounts.append(Mount(source=str(stacks), target=str(Path(_LIB).parent / "stacks"), read_only=True))
    # The name of its own folder has to say which package and version it is of (PEP 376).
    found = metadata.distribution("stackproof")
    about = Path(str(found.locate_file(f"stackproof-{found.version}.dist-info")))
    if not about.is_dir():
        raise DockerError(
            f"stackproof is not installed as a package for {sys.executable}: {os.fspath(about)} is missing",
            hint="install it with pip, then run again",
        )
    mounts.append(Mount(source=str(about), target=f"{_LIB}/{about.name}", read_only=True))
    return tuple(mounts)
