"""Stackproof for another Python: this very package and what makes pytest find its plugin, in a folder of the run."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

import stackproof
from stackproof.errors import StackStartError

# What the interpreter that runs this was told, and another one must not hear.
_OWN = ("PYTHONHOME", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")


def variables(environment: Mapping[str, str], python: Path | None) -> dict[str, str]:
    """The environment for a process that `python` runs: without what only ours may hear, where that is another one."""
    if python is None or str(python) == sys.executable:
        return dict(environment)
    return {name: value for name, value in environment.items() if name not in _OWN}


def beside(environment: Mapping[str, str], python: Path | None, folder: Path) -> dict[str, str]:
    """The same with Stackproof on its import path, as it is here. folder: where that may be put, of the run's own.

    StackStartError where Stackproof is not installed as a package.
    """
    given = variables(environment, python)
    if python is None or str(python) == sys.executable:
        return given
    library = folder / "lib"
    library.mkdir(parents=True, exist_ok=True)
    for path in (Path(stackproof.__file__).resolve().parent, about()):
        link = library / path.name
        if not link.exists():
            link.symlink_to(path)
    given["PYTHONPATH"] = ":".join(filter(None, (str(library.absolute()), given.get("PYTHONPATH"))))
    return given


def about() -> Path:
    """The folder that says which package and version this is, and names its plugin (PEP 376)."""
    found = metadata.distribution("stackproof")
    path = Path(str(found.locate_file(f"stackproof-{found.version}.dist-info")))
    if not path.is_dir():
        raise StackStartError(
            f"stackproof is not installed as a package for {sys.executable}: {path} is missing",
            hint="install it with pip, then run again",
        )
    return path
