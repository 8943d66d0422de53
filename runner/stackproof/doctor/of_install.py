"""Where Stackproof is installed, how often, and whether the `stackproof` that a shell finds is this one."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import stackproof
from stackproof.doctor import installation
from stackproof.doctor.finding import Finding, missing, odd, ok
from stackproof.doctor.installation import Kind
from stackproof.doctor.place import Place

_KINDS = {
    Kind.EDITABLE: "an editable install",
    Kind.WHEEL: "a wheel",
    Kind.GIT: "version control",
    Kind.SOURCE: "a folder of sources, without an install",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class InstallFacts:
    """package: the folder that is imported. others: metadata of further installs that this Python sees.

    command: the `stackproof` that a shell finds, None where it finds none; own_command: the one beside this Python.
    unmet: requirements of Stackproof that are not there, with what is. shadowed: a `stackproof` in the working folder.
    """

    version: str
    kind: Kind
    installer: str
    package: str
    others: tuple[str, ...]
    command: str | None
    own_command: str
    same_command: bool
    unmet: tuple[tuple[str, str], ...]
    shadowed: str | None


def look(place: Place) -> InstallFacts:
    """Read the metadata of installs, and look for commands."""
    package = Path(stackproof.__file__).resolve().parent
    found = installation.find(package, place.distributions, place.environ)
    own = [item for item in place.distributions if item.name == installation.NAME]
    command = shutil.which("stackproof", path=place.environ.get("PATH"))
    ours = Path(sys.executable).with_name("stackproof")
    shadow = place.project / "stackproof"
    shadows = any((shadow.parent / name).exists() for name in ("stackproof/__init__.py", "stackproof.py"))
    return InstallFacts(
        version=stackproof.__version__,
        kind=found.kind,
        installer=found.installer,
        package=place.short(package),
        others=tuple(f"{item.version} in {place.short(item.folder.parent)}" for item in own[1:]),
        command=None if command is None else place.short(command),
        own_command=place.short(ours),
        same_command=command is not None and _is_of(Path(command), Path(sys.executable).parent),
        unmet=tuple(_unmet()),
        shadowed=place.short(shadow) if shadows and shadow.resolve() != package else None,
    )


def judge(facts: InstallFacts) -> Iterator[Finding]:
    """Is there one of it, whole, and the one that is meant?"""
    name = f"stackproof {facts.version}"
    by = f", by {facts.installer}" if facts.installer else ""
    yield ok("install.place", name, f"from {_KINDS[facts.kind]}{by}, in {facts.package}")
    if facts.others:
        yield odd(
            "install.several",
            name,
            f"is not the only one that this Python sees: {', '.join(facts.others)}",
            "`python -m pip uninstall stackproof` until none is left, then install it once",
        )
    if facts.command is not None and not facts.same_command:
        yield odd(
            "install.other-command",
            facts.command,
            f"is what a shell starts as `stackproof`; this is {facts.own_command}",
            f"call `{facts.own_command}`, or activate its environment",
        )
    for requirement, there in facts.unmet:
        yield missing(
            "install.requirement",
            requirement,
            f"is required by Stackproof, and {there}",
            f"`python -m pip install '{requirement}'`",
        )
    if facts.shadowed is not None:
        yield odd(
            "install.shadowed",
            facts.shadowed,
            "has the name of Stackproof's package, and `python -m` takes what is in the working folder first",
            "give it another name",
        )


def _is_of(command: Path, binaries: Path) -> bool:
    """Whether a command is of the environment with that folder of programs, as far as can be told."""
    python = _python_of(command)
    # What finds its Python by itself, as uv's scripts do, lies beside it.
    return python is None or not python.is_absolute() or python.parent.resolve() == binaries.resolve()


def _python_of(command: Path) -> Path | None:
    """The Python that a console script names in its first line; None where it names none."""
    try:
        with command.open("rb") as file:
            first = file.read(400).split(b"\n", 2)
    except OSError:
        return None
    line = first[0].decode(errors="replace")
    if line.startswith("#!/bin/sh") and len(first) > 1:
        # A long path stands in the second line: '''exec' "/path/to/python" "$0" "$@"
        line = first[1].decode(errors="replace").replace("'''exec'", "#!").replace('"$0" "$@"', "").replace('"', "")
    return Path(line.removeprefix("#!").strip()) if line.startswith("#!") else None


def _unmet() -> Iterator[tuple[str, str]]:
    from packaging.requirements import InvalidRequirement, Requirement  # noqa: PLC0415 - for this alone

    try:
        wanted = metadata.requires(installation.NAME) or ()
    except metadata.PackageNotFoundError:
        return
    for text in wanted:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        try:
            there = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            yield text.partition(";")[0].strip(), "is not installed"
            continue
        if not requirement.specifier.contains(there, prereleases=True):
            yield text.partition(";")[0].strip(), f"{there} is installed"
