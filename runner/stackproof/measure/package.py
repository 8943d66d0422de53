"""The package coverage: whether it is where something is to be measured, and what the project has configured for it."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from stackproof.errors import UsageError

NAME = "coverage"
_OLDEST = (7, 10)  # the first that keeps what a process measured which ends by os._exit
_PROBE = 20.0  # seconds
_ASK = "import coverage; print(coverage.__version__)"


def require_here() -> None:
    """UsageError where this very Python, which combines what was measured and often runs the tests, lacks it."""
    try:
        version = metadata.version(NAME)
    except metadata.PackageNotFoundError:
        version = ""
    _require(version, sys.executable)


def require_at(python: Path | None, environment: Mapping[str, str]) -> None:
    """The same of another Python, which runs the stack or the tests. None: there is no other."""
    if python is None or str(python) == sys.executable:
        return
    try:
        said = subprocess.run(
            [str(python), "-c", _ASK],
            env=dict(environment),
            capture_output=True,
            text=True,
            timeout=_PROBE,
            check=False,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        said = ""
    _require(said.strip(), str(python))


def lacking(where: str, found: str = "") -> UsageError:
    """The sentence that says where it is missing. found: what is wrong with the one that is there."""
    oldest = ".".join(map(str, _OLDEST))
    return UsageError(
        f"--coverage needs the package coverage in {where}, which {found or 'lacks it'}",
        hint=f"{where} -m pip install 'coverage>={oldest}', or leave --coverage out",
    )


def _require(version: str, where: str) -> None:
    numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:2])
    if numbers < _OLDEST:
        raise lacking(where, f"has version {version}, and 7.10 is the oldest that does" if version else "")


def of_project() -> Any:
    """coverage with the configuration of the project in the current folder; UsageError when that cannot be read."""
    coverage = importlib.import_module(NAME)
    try:
        return coverage.Coverage(config_file=True, messages=False)
    except coverage.CoverageException as error:
        raise UsageError(f"--coverage: the project's configuration of coverage cannot be read: {error}") from error
