"""`stackproof --version`: what a report of a fault needs to say of where it happened. Of values of variables, nothing.

It has to be quick, and it imports neither pytest nor Docker's SDK: versions are read from the names of folders.
"""

from __future__ import annotations

import platform
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import click

import stackproof
from stackproof import __version__, console
from stackproof.cli.cli_words import Command

_LABEL = 11
_WIDTH = 80
_TOGETHER = "\N{NO-BREAK SPACE}"  # a name stays on the line of its version


def option(command: Command) -> Command:
    """`--version` for the whole command."""
    return click.option(
        "--version",
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=_print,
        help="Show the version, and what a report of a fault needs beside it.",
    )(command)


def lines(environ: Mapping[str, str], *, path: Iterable[str]) -> Iterator[str]:
    """The version alone, then a line for each thing. path: folders that Python imports from."""
    from stackproof.doctor import clients, distributions, installation, system  # noqa: PLC0415 - for this alone

    yield f"stackproof {__version__}"
    found = distributions.installed(path)
    versions = {item.name: item.version for item in reversed(found)}
    here = installation.find(Path(stackproof.__file__).resolve().parent, found, environ)
    home = Path(environ.get("HOME") or Path.home())
    machine = system.describe()
    plugins = [name for name in versions if name.startswith("pytest-")]

    def short(place: Path) -> str:
        return f"~/{place.relative_to(home)}" if place.is_relative_to(home) else str(place)

    by = f" by {here.installer}" if here.installer else ""
    rows = {
        "Python": f"{platform.python_implementation()} {platform.python_version()}, {short(Path(sys.executable))}",
        "system": f"{machine.words}, {machine.kind} {machine.kernel}",
        "installed": f"{here.kind.value}{by}, in {short(here.package)}, {here.environment.value}",
        "pytest": versions.get("pytest", "not installed")
        + (f", {_listed(versions, sorted(plugins))}" if plugins else ""),
        "docker SDK": versions.get("docker", "not installed"),
        "HTTP": _listed(versions, clients.HTTP),
        "SDKs": _listed(versions, clients.SDKS),
    }
    for label, text in rows.items():
        room = _WIDTH - _LABEL - 1
        wrapped = textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False)
        first, *more = [line.replace(_TOGETHER, " ") for line in wrapped]
        yield f"{label.ljust(_LABEL)} {first}"
        yield from (f"{' ' * _LABEL} {line}" for line in more)


def _listed(versions: Mapping[str, str], names: Iterable[str]) -> str:
    return ", ".join(f"{name}{_TOGETHER}{versions[name]}" for name in names if name in versions) or "none"


def _print(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    environ: Mapping[str, str] = getattr(ctx.obj, "environ", {})
    for line in lines(environ, path=sys.path):
        console.out(line)
    ctx.exit()
