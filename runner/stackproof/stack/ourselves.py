"""Stackproof for another Python: this very package and what makes pytest find its plugin, in a folder of the run."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from packaging.version import Version

import stackproof
from stackproof.errors import StackStartError, UsageError

# What the interpreter that runs this was told, and another one must not hear.
_OWN = ("PYTHONHOME", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")
# What the plugin imports, and pytest with it: all of them run without their compiled parts, in any Python.
_NEEDED = ("pytest", "pluggy", "iniconfig", "packaging", "pygments", "pyyaml", "pytest-timeout")
_PYTEST = "8.3"
_PROBE = 30.0
_ASK = """
import json, sys
from importlib import metadata
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        found[name] = None
print(json.dumps(found))
"""


def variables(environment: Mapping[str, str], python: Path | None) -> dict[str, str]:
    """The environment for a process that `python` runs: without what only ours may hear, where that is another one."""
    if python is None or str(python) == sys.executable:
        return dict(environment)
    return {name: value for name, value in environment.items() if name not in _OWN}


def beside(environment: Mapping[str, str], python: Path | None, folder: Path) -> dict[str, str]:
    """The same with Stackproof on its import path, as it is here, and what its plugin needs and the other has not.

    folder: where that may be put, of the run's own. UsageError where pytest there is too old, StackStartError where
    Stackproof is not installed as a package.
    """
    given = variables(environment, python)
    if python is None or str(python) == sys.executable:
        return given
    library = folder / "lib"
    library.mkdir(parents=True, exist_ok=True)
    needed = [path for name in _lacking(python, given) for path in _of(name)]
    for path in (Path(stackproof.__file__).resolve().parent, about(), *needed):
        link = library / path.name
        if not link.exists():
            link.symlink_to(path)
    given["PYTHONPATH"] = ":".join(filter(None, (str(library.absolute()), given.get("PYTHONPATH"))))
    return given


def _lacking(python: Path, environment: Mapping[str, str]) -> list[str]:
    """Which of the packages that the plugin needs the other Python has not."""
    # As the tests will run: what a path of the caller's adds counts, and -I would leave it out.
    command = [str(python), "-P", "-c", _ASK, *_NEEDED]
    try:
        said = subprocess.run(command, env=dict(environment), capture_output=True, timeout=_PROBE, check=True).stdout
        found = json.loads(said)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise StackStartError(
            f"{python} does not say which packages it has: {error}",
            hint=f"`{python} -c pass` says more; or name another Python with --python PATH",
        ) from error
    pytest = found.get("pytest")
    if pytest is not None and Version(pytest) < Version(_PYTEST):
        raise UsageError(
            f"{python} has pytest {pytest}, and Stackproof's plugin needs {_PYTEST} or newer",
            hint=f"{python} -m pip install --upgrade pytest (or uv pip install --python {python} --upgrade pytest)",
        )
    return [name for name in _NEEDED if found.get(name) is None]


def _of(name: str) -> list[Path]:
    """What is to be linked of a package: its modules, and what says that it is there."""
    try:
        found = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return []
    tops = {Path(file.parts[0]) for file in found.files or () if file.parts[0] not in ("..", "__pycache__")}
    return sorted(path for top in tops if (path := Path(str(found.locate_file(top)))).exists())


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
