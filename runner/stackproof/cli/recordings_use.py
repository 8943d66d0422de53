"""What `recordings check` and `recordings prune` share: the runs that are kept, and the tests that there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

from stackproof import options
from stackproof.cli import completing
from stackproof.cli.recordings_words import Room
from stackproof.cli.surroundings import Surroundings
from stackproof.errors import UsageError
from stackproof.recordings import collection, corpus
from stackproof.recordings.collection import Collected
from stackproof.verdict import policy
from stackproof.verdict.policy import Policy

Command = TypeVar("Command", bound=Callable[..., Any])


def runs_option(command: Command) -> Command:
    """`--runs`; the command gets it as `runs`."""
    text = "Look at the run folders in DIR too (artefacts of a CI system, say). May be repeated."
    return click.option("--runs", shell_complete=completing.folders, metavar="DIR", multiple=True, help=text)(command)


def folders(where: Room, runs: Iterable[str]) -> tuple[Path, ...]:
    """The folders that `--runs` named."""
    return tuple(where.project / name for name in runs)


def program(around: Surroundings) -> str:
    """How runs are started here, for commands that are printed."""
    return options.resolve({}, around.environ, around.project).program


def release_policy(where: Room) -> Policy | None:
    """The release policy, where the project has one."""
    return policy.load(where.project) if (where.project / policy.PATH).is_file() else None


def collect(around: Surroundings, where: Room, wanted: Iterable[str]) -> Collected:
    """The tests of all suites, in the environment of one setup: one that has recordings, the usual one if it has.

    UsageError where they cannot be collected.
    """
    there = [name for name in corpus.setups(where.root, wanted) if name in where.catalog.setups]
    usual = options.resolve({}, around.environ, around.project).setup
    if not where.suites:
        raise UsageError(
            "there is no suite, so nobody knows which tests there are",
            hint="write one into tests/suites.yaml, or have `stackproof init` do it",
        )
    chosen = usual if usual in there else next(iter(there), None)
    if chosen is None:
        chosen = next(iter(where.catalog.suites.values())).default_setup
    return collection.collect(where.project, where.catalog, around.environ, suites=where.suites, setup=chosen)
