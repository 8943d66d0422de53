"""Where the doctor is: the environment, the project, and what of it every check asks for, read once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from stackproof import catalog, options, plan
from stackproof.catalog.records import Catalog
from stackproof.doctor import sources
from stackproof.doctor.distributions import Distribution, installed
from stackproof.doctor.pytest_config import PytestConfig, read
from stackproof.doctor.sources import Sources
from stackproof.errors import StackproofError

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Chosen:
    """What a plain `stackproof run` would do here, or the error that it would end with.

    known: everything that can be named; None where a file cannot be read. planned: None without suites, or with an
    error. recordings: the folder of all setups, as the project names it.
    """

    known: Catalog | None = None
    planned: plan.Plan | None = None
    error: StackproofError | None = None
    recordings: str = "recordings"


class Place:
    """The environment, the project's folder, and what is read there, by whoever asks first. Safe for several threads.

    path: folders that Python imports from. now: seconds since the epoch.
    """

    def __init__(
        self, *, environ: Mapping[str, str], project: Path, home: Path, path: tuple[str, ...], now: float
    ) -> None:
        self.environ, self.project, self.home, self.path, self.now = environ, project, home, path, now
        self._lock = threading.RLock()

    @property
    def is_project(self) -> bool:
        """Whether somebody has made a project of this folder."""
        return is_project(self.project)

    @property
    def distributions(self) -> tuple[Distribution, ...]:
        """What is installed where this Python imports from; of two with one name, the one that counts comes first."""
        return self._locked(lambda: self._distributions)

    @property
    def chosen(self) -> Chosen:
        """What a plain run would do."""
        return self._locked(lambda: self._chosen)

    @property
    def sources(self) -> Sources:
        """What the project's Python files import and define."""
        return self._locked(lambda: self._sources)

    @property
    def pytest_config(self) -> PytestConfig:
        """What pytest is told by files and variables."""
        return self._locked(lambda: self._pytest_config)

    def version(self, name: str) -> str | None:
        """The version of an installed distribution, by its normalised name; None where it is not installed."""
        return next((item.version for item in self.distributions if item.name == name), None)

    def short(self, path: Path | str) -> str:
        """A path as a person would write it: below the project or below ~."""
        return shortened(Path(path), project=self.project, home=self.home)

    def _locked(self, get: Callable[[], T]) -> T:
        with self._lock:
            return get()

    @cached_property
    def _distributions(self) -> tuple[Distribution, ...]:
        return installed(self.path)

    @cached_property
    def _chosen(self) -> Chosen:
        known: Catalog | None = None
        where = Chosen().recordings
        try:
            known = catalog.load(self.project)
            chosen = options.resolve({}, self.environ, self.project)
            where = chosen.recording_dir
            if not self.is_project:
                return Chosen(known=known, recordings=where)
            planned = plan.make(chosen, known, self.project, "000000", caller=self.environ)
        except StackproofError as error:
            return Chosen(known=known, error=error, recordings=where)
        return Chosen(known=known, planned=planned, recordings=where)

    @cached_property
    def _sources(self) -> Sources:
        return sources.read(self.project)

    @cached_property
    def _pytest_config(self) -> PytestConfig:
        return read(self.project, self.environ)


def is_project(folder: Path) -> bool:
    """Whether a folder has what only a project has."""
    named = (folder / "tests" / "suites.yaml", folder / "stacks" / "setups.yaml")
    return any(path.is_file() for path in named) or any((folder / "stacks").glob("*/stack.yaml"))


def shortened(path: Path, *, project: Path, home: Path) -> str:
    """`path` relative to the project, else with ~ for the home folder, else as it is."""
    if path != project and path.is_relative_to(project):
        return path.relative_to(project).as_posix()
    return f"~/{path.relative_to(home).as_posix()}" if path != home and path.is_relative_to(home) else str(path)
