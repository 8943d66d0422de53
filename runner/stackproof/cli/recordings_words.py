"""What the commands `stackproof recordings …` share: their filters, where recordings lie, and how far a walk is."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from stackproof import catalog, console, options
from stackproof.catalog.records import Catalog
from stackproof.cli import completing
from stackproof.cli.surroundings import Surroundings
from stackproof.recordings.query import Query

Item = TypeVar("Item")
Command = TypeVar("Command", bound=Callable[..., Any])

_SHOWN_AFTER = 1.0  # seconds that a walk takes before anybody wonders
_FILTERS = (
    ("--setup", "NAME", "Only recordings of this setup."),
    ("--suite", "NAME", "Only recordings of this suite's tests."),
    ("--test", "TEST", "Only this test, file or folder, as pytest takes it; * stands for anything."),
    ("--model", "PATTERN", "Only this model; * stands for anything."),
    ("--endpoint", "PATTERN", "Only this path below the provider's URL (/chat/completions); * stands for anything."),
    ("--provider", "PATTERN", "Only this provider; * stands for anything."),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Room:
    """Where a command works. `root` is the recording directory; `shown` its name as messages write it."""

    project: Path
    root: Path
    shown: str
    catalog: Catalog

    @property
    def suites(self) -> dict[str, tuple[str, ...]]:
        """Every suite with its roots."""
        return {name: spec.roots for name, spec in self.catalog.suites.items()}

    def short(self, path: Path) -> str:
        """A path as a person in the project's folder would type it."""
        return path.relative_to(self.project).as_posix() if path.is_relative_to(self.project) else str(path)


def room(around: Surroundings, recording_dir: str | None) -> Room:
    """The room of a command: the recording directory as a run would choose it."""
    given = {} if recording_dir is None else {"recording_dir": recording_dir}
    chosen = options.resolve(given, around.environ, around.project).recording_dir
    project = around.project
    return Room(project=project, root=project / chosen, shown=chosen, catalog=catalog.load(project))


def recording_dir_option(command: Command) -> Command:
    """`--recording-dir`, as `stackproof run` has it."""
    return click.option(
        "--recording-dir",
        shell_complete=completing.folders,
        metavar="DIR",
        help="Where recordings lie. Default: recordings.",
    )(command)


def filters(command: Command) -> Command:
    """The filters; the command gets them as `setup`, `suite`, `test`, `model`, `endpoint`, `provider`."""
    offers = {"--setup": completing.setup, "--suite": completing.suite, "--test": completing.tests}
    for flag, metavar, text in reversed(_FILTERS):
        help_ = f"{text} May be repeated."
        option = click.option(flag, metavar=metavar, multiple=True, help=help_, shell_complete=offers.get(flag))
        command = option(command)
    return command


def query(where: Room, given: dict[str, tuple[str, ...]]) -> Query:
    """The filters that were given. UsageError for a suite that is not known."""
    suites = {name: where.catalog.suite(name, where="--suite").roots for name in given.get("suite", ())}
    return Query(
        setups=given.get("setup", ()),
        suites=suites,
        tests=given.get("test", ()),
        models=given.get("model", ()),
        endpoints=given.get("endpoint", ()),
        providers=given.get("provider", ()),
    )


def followed(items: Iterable[Item], total: int, what: str) -> Iterator[Item]:
    """The items, with a bar on a terminal's standard error once the walk has taken a second."""
    if console.is_plain(sys.stderr, os.environ):
        yield from items
        return
    started, bar, task = time.monotonic(), None, None
    try:
        for done, item in enumerate(items):
            if bar is None and time.monotonic() - started > _SHOWN_AFTER:
                from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn  # noqa: PLC0415

                columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
                bar = Progress(*columns, console=console.make(sys.stderr, os.environ), transient=True)
                task = bar.add_task(what, total=total)
                bar.start()
            if bar is not None and task is not None and done % 50 == 0:
                bar.update(task, completed=done)
            yield item
    finally:
        if bar is not None:
            bar.stop()
