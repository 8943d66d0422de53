"""The Python that runs this: its version, and whether it is the one that the project's packages are in."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stackproof.doctor import installation
from stackproof.doctor.finding import Finding, missing, odd, ok
from stackproof.doctor.installation import Environment
from stackproof.doctor.place import Place

_TRIED = ((3, 11), (3, 13))
"""The oldest and the newest that the tests run on."""
_FOLDERS = (".venv", "venv", "env")


@dataclass(frozen=True, kw_only=True, slots=True)
class PythonFacts:
    """prefix: of this Python, active: of the environment that the shell has activated, own: that of the project.

    All three as a person would write them; None where there is none.
    """

    version: tuple[int, int, int]
    implementation: str
    free_threaded: bool
    environment: Environment
    prefix: str
    active: str | None
    own: str | None
    managed: bool


def look(place: Place) -> PythonFacts:
    """Read what this process and the project's folder say."""
    prefix = Path(sys.prefix)
    active = place.environ.get("VIRTUAL_ENV")
    own = next((place.project / name for name in _FOLDERS if (place.project / name / "pyvenv.cfg").is_file()), None)
    # Whoever activated this one, or has it in the project as nox does, means it.
    if prefix.is_relative_to(place.project) or (active and Path(active).resolve() == prefix.resolve()):
        own = None

    def other(path: Path | None) -> str | None:
        return None if path is None or path.resolve() == prefix.resolve() else place.short(path)

    return PythonFacts(
        version=(sys.version_info[0], sys.version_info[1], sys.version_info[2]),
        implementation=platform.python_implementation(),
        free_threaded="free-threading" in sys.version,
        environment=installation.environment_of(prefix, Path(sys.base_prefix), place.environ),
        prefix=place.short(prefix),
        active=other(Path(active) if active else None),
        own=other(own) if place.is_project else None,
        managed=installation.is_externally_managed(),
    )


def judge(facts: PythonFacts) -> Iterator[Finding]:
    """Is it a version that is supported, and is it the project's own?"""
    number = ".".join(map(str, facts.version))
    name = f"Python {number}"
    oldest, newest = (".".join(map(str, version)) for version in _TRIED)
    if facts.version[:2] < _TRIED[0]:
        yield missing(
            "python.version",
            name,
            f"is too old: Stackproof needs {oldest} or newer",
            f"make an environment with Python {oldest}",
        )
    elif facts.version[:2] > _TRIED[1]:
        yield odd(
            "python.version",
            name,
            f"is newer than what Stackproof is tried with, {oldest} to {newest}",
            f"where something fails, try Python {newest} first",
        )
    else:
        yield ok("python.version", name, f"in the {facts.environment.value}, {facts.prefix}")
    if facts.implementation != "CPython" or facts.free_threaded:
        kind = facts.implementation if facts.implementation != "CPython" else "a free-threaded build"
        yield odd(
            "python.implementation", name, f"is {kind}, which was never tried", "where something fails, try CPython"
        )
    yield from _whose(facts)
    if facts.managed:
        yield odd(
            "python.managed",
            facts.prefix,
            "is looked after by the system, and pip refuses to install beside its packages",
            "`python3 -m venv .venv`, and install Stackproof and the project there",
        )


def _whose(facts: PythonFacts) -> Iterator[Finding]:
    """Tests run in the Python that Stackproof runs in: the project's packages have to be there too."""
    where = f"Stackproof runs in {facts.prefix}, and so do the tests; the project's packages are not seen from there"
    install = "install Stackproof where the project is: `{}/bin/python -m pip install stackproof`"
    if facts.active is not None:
        yield odd(
            "python.other-environment",
            facts.active,
            f"is the active environment, but {where}",
            f"{install.format(facts.active)}, or deactivate that environment",
        )
    elif facts.own is not None:
        yield odd(
            "python.other-environment",
            facts.own,
            f"looks like the project's environment, but {where}",
            install.format(facts.own),
        )
    elif facts.environment.of_a_tool:
        yield odd(
            "python.tool-environment",
            facts.prefix,
            f"is the {facts.environment.value}: looking and planning work, but tests run in it too, and a project's "
            "packages are not there",
            "install Stackproof beside the project, in an environment of its own",
        )
