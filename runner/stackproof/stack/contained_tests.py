"""Tests and library in one container: pytest runs where the image's own Python and packages are."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from importlib import metadata
from pathlib import Path
from shutil import copyfile

import stackproof
from stackproof import catalog
from stackproof.catalog.records import DockerSpec, StackSpec
from stackproof.errors import DockerError, UsageError
from stackproof.stack import enter, luggage, place, project, seen, start
from stackproof.stack.apart import Apart
from stackproof.stack.container import Container
from stackproof.stack.engine_records import ContainerSpec, Mount
from stackproof.stack.kept import Kept
from stackproof.stack.luggage import Folder
from stackproof.stack.place import Place
from stackproof.stack.stack_container import no_names

_LIB = "/stackproof/lib"
_GRACE = 5.0  # seconds


@dataclass(frozen=True, kw_only=True, slots=True)
class TestsInside:
    """What to run. arguments: what follows `python` on pytest's command line.

    variables: of pytest and the library, secrets among them. files: of the cell's folder that pytest reads. recordings:
    their folder, and those that go into a container which does not see it. records: the plugin in there puts recordings
    in place. shown: what it writes goes to our output too.
    """

    __test__ = False

    arguments: Sequence[str]
    variables: Mapping[str, str]
    project: Path
    cell_dir: Path
    files: Sequence[Path]
    recordings: Folder
    records: bool
    shown: bool


class ContainedTests:
    """pytest in a container, as `suite.run` runs it."""

    def __init__(
        self, stack: StackSpec, docker: DockerSpec, where: Place, what: TestsInside, say: Callable[[str], None]
    ) -> None:
        self._stack, self._docker, self._where, self._what, self._say = stack, docker, where, what, say
        self._guest = what.cell_dir.absolute() / "guest"
        self._undo = ExitStack()
        self._container: Container | None = None
        self._apart: Apart | None = None

    def start(self) -> None:
        """Start it; StackStartError when the container does not take its variables."""
        what = self._what
        self._guest.mkdir(exist_ok=True)
        copyfile(Path(enter.__file__), self._guest / "enter.py")
        self._container, self._apart = seen.started(
            self._begin,
            self._where,
            self._undo,
            guest=self._guest,
            recordings=what.recordings,
            tests=seen.Together(folders=self._folders, kept=partial(Kept, what.recordings) if what.records else None),
            say=self._say,
        )

    def poll(self) -> int | None:
        """Exit code, or None while it runs."""
        return None if self._container is None else self._container.poll()

    def signal(self, signum: int) -> None:
        """Send it a signal."""
        if self._container is not None:
            self._container.signal(signum)

    def stop(self, grace: float = _GRACE) -> None:
        """End it and remove it; DockerError when not all that it wrote came out of it. Safe to call again."""
        if self._apart is not None:
            self._apart.close()
        try:
            if self._container is not None:
                self._container.stop(grace)
        finally:
            # Also what an attempt to start it has left.
            self._undo.close()
        if self._apart is not None:
            self._apart.require("pytest")

    def _begin(self, apart: Apart | None, undo: ExitStack) -> Container:
        what, where, python = self._what, self._where, self._docker.python
        script = self._guest / "enter.py"
        container = Container(
            where.engine,
            ContainerSpec(
                name=where.name(f"{self._stack.name}-tests"),
                image=where.image,
                entrypoint=(),
                command=(python, str(script), "run", "--", python, *what.arguments),
                labels=where.labels,
                user=place.caller(where.engine),
                working_dir=str(what.project),
                network=where.network,
                hosts=where.hosts,
                mounts=() if apart is not None else self._mounts(),
                tmpfs=(enter.FOLDER,),
                capabilities=("NET_ADMIN",) if where.internal else (),
            ),
            name="pytest",
            log=what.cell_dir / "pytest.log",
            shown=what.shown,
            before=apart.put if apart is not None else seen.required(where, self._guest),
            after=apart.bring if apart is not None else None,
        )
        undo.callback(container.stop)
        shut = None if not where.internal else "shut" if apart is None else "unname"
        container.start(self._variables(), python, shut=shut)
        if apart is not None:
            apart.watch(container, python, self._guest)
        return container

    def _variables(self) -> Mapping[str, str]:
        given = self._what.variables
        return {
            **given,
            start.INSIDE: "1",
            "PYTHONPATH": ":".join(filter(None, (_LIB, given.get("PYTHONPATH")))),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HOME": given.get("HOME", "/tmp"),  # noqa: S108 - the container's own
        }

    def _mounts(self) -> tuple[Mount, ...]:
        what = self._what
        recordings = what.recordings.path
        return (
            Mount(source=place.shared(what.project), target=str(what.project), read_only=True),
            Mount(source=place.shared(what.cell_dir), target=str(what.cell_dir.absolute())),
            Mount(source=place.shared(recordings), target=str(recordings.absolute()), read_only=not what.records),
            *(Mount(source=str(source), target=target, read_only=True) for source, target in ourselves()),
            *no_names(self._guest, self._where),
        )

    def _folders(self) -> tuple[Folder, ...]:
        what = self._what
        return (
            *(
                replace(luggage.everything(source), inside=Path(target), as_mounted=True)
                for source, target in ourselves()
            ),
            project.files(what.project, without=what.recordings.path),
            Folder(path=what.cell_dir.absolute(), files=[path.absolute() for path in what.files]),
        )


def make(stack: StackSpec, where: Place, what: TestsInside, *, say: Callable[[str], None]) -> ContainedTests:
    """The tests of a cell, not started yet."""
    if stack.docker is None:
        raise UsageError(f"stack {stack.name!r} has no `docker` section", hint=f"add it to {stack.source}")
    return ContainedTests(stack, stack.docker, where, what, say)


def ourselves() -> Iterator[tuple[Path, str]]:
    """This very package, its built-in stacks, and what makes pytest find its plugin: where each is here, and inside."""
    package = Path(stackproof.__file__).resolve().parent
    yield package, f"{_LIB}/stackproof"
    stacks = catalog.builtin_folder()
    if not stacks.is_relative_to(package):
        yield stacks, str(Path(_LIB).parent / "stacks")
    # The name of its own folder has to say which package and version it is of (PEP 376).
    found = metadata.distribution("stackproof")
    about = Path(str(found.locate_file(f"stackproof-{found.version}.dist-info")))
    if not about.is_dir():
        raise DockerError(
            f"stackproof is not installed as a package for {sys.executable}: {os.fspath(about)} is missing",
            hint="install it with pip, then run again",
        )
    yield about, f"{_LIB}/{about.name}"
