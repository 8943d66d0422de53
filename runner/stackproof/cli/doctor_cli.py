"""`stackproof doctor`: what is missing or odd, each with what to do about it."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

import click

from stackproof import __version__, console
from stackproof.ci import log
from stackproof.cli import completing
from stackproof.cli.cli_words import json_option
from stackproof.cli.listing import print_json
from stackproof.cli.surroundings import Surroundings
from stackproof.doctor import shown
from stackproof.doctor.checks import BY_NAME, CHECKS, Check
from stackproof.doctor.examine import examine
from stackproof.doctor.place import Place, is_project
from stackproof.errors import UsageError
from stackproof.suggest import unknown

_HELP = """Say what of this machine and this project is missing or odd, and what to do about it.

Nothing is started or changed, and nobody is called but the Docker engine. Of keys only names are told. Outside of a
project the machine and the installation alone are looked at.

\b
Exit codes: 0 nothing stands in the way of a replay, however much is odd;
7 something does; 2 a wrong command line.

\b
Checks:
"""


@click.command("doctor", help=_HELP + "\n".join(f"  {check.name.ljust(11)} {check.asks}" for check in CHECKS))
@click.option(
    "--only",
    metavar="CHECK",
    multiple=True,
    help="Only these checks, by comma or repeated.",
    shell_complete=completing.words(*BY_NAME),
)
@json_option
@click.pass_obj
def doctor(around: Surroundings, only: tuple[str, ...], as_json: bool) -> int:
    """See _HELP: the checks are listed in it."""
    checks = _chosen(only, in_project=is_project(around.project))
    home = Path(around.environ.get("HOME") or Path.home())
    place = Place(environ=around.environ, project=around.project, home=home, path=tuple(sys.path), now=time.time())
    found = examine(checks, place)
    where = place.short(around.project)
    if as_json:
        print_json(shown.as_json(found, project=where, is_project=place.is_project))
        return found.exit_code
    title = f"stackproof {__version__} · doctor · {where}"
    # What is told has names of files in it.
    with log.fenced(around.environ):
        console.out(title)
        console.out("")
        for _, line in shown.lines(found, width=shutil.get_terminal_size((80, 24)).columns):
            console.out(line)
    return found.exit_code


def _chosen(only: tuple[str, ...], *, in_project: bool) -> tuple[Check, ...]:
    names = [name.strip() for text in only for name in text.split(",") if name.strip()]
    if only and not names:
        raise UsageError("--only names no check", hint=f"there are {', '.join(BY_NAME)}")
    for name in names:
        if name not in BY_NAME:
            raise unknown("check", name, BY_NAME, where="--only")
        if BY_NAME[name].in_project and not in_project:
            raise UsageError(
                f"--only {name}: there is no project here that could be looked at",
                hint="run this in the project's folder; `stackproof doctor` says why this is none",
            )
    return tuple(check for check in CHECKS if not names or check.name in names)
