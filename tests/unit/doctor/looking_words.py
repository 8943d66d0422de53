"""What a check found, for the tests of what is looked at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from stackproof.doctor.finding import Finding, Level
from stackproof.doctor.place import Place

Make = Callable[..., Place]


def wrong(module: Any, place: Place) -> list[Finding]:
    """What is not as it should be."""
    return [each for each in module.judge(module.look(place)) if each.level is not Level.OK]


def ids_of(module: Any, place: Place) -> set[str]:
    """The ids of that."""
    return {each.id for each in wrong(module, place)}


def fine(module: Any, place: Place) -> str:
    """What is as it should be, in its words."""
    return "; ".join(
        f"{each.subject} {each.says}" for each in module.judge(module.look(place)) if each.level is Level.OK
    )


def installed(folder: Path, *names: str) -> tuple[str]:
    """A folder in which these packages are installed."""
    for name in names:
        (folder / f"{name}.dist-info").mkdir(parents=True)
    return (str(folder),)
