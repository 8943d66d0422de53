"""The Python that a stack runs with: the one that somebody names, one that fits, or an environment made for the stack.

A stack whose stack.yaml says nothing of `python` runs with that of its tests.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from stackproof.catalog.records import PythonSpec, StackMode, StackSpec
from stackproof.errors import MissingProgramError, UsageError
from stackproof.stack import venv

_ASK = "import sys; print('%d.%d.%d' % sys.version_info[:3])"
_HAS_PYTEST = "from importlib import util; print(util.find_spec('pytest') is not None)"
_PROBE = 10.0
_NEWEST, _OLDEST = 20, 11  # the recorder needs 3.11


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """A Python of this machine. version: as it says itself, `3.12.1`."""

    path: Path
    version: str

    @property
    def minor(self) -> tuple[int, int]:
        """Major and minor version."""
        major, minor = self.version.split(".")[:2]
        return int(major), int(minor)


def variable(prefix: str, stack: str) -> str:
    """The name of a variable that is about one stack alone: `STACKPROOF_PYTHON` and `ogx` is STACKPROOF_PYTHON_OGX."""
    return f"{prefix}_{re.sub('[^A-Z0-9]+', '_', stack.upper())}"


def choose(
    stack: StackSpec,
    mode: StackMode,
    *,
    own: Path | None = None,
    environment: Mapping[str, str],
    say: Callable[[str], None],
    check: Callable[[], None],
) -> Path:
    """The Python that starts `stack`, or in library mode that runs its tests; its environment is made where it is
    missing, which fetches packages.

    own: the project's, for a stack that asks for none; None is ours. environment: the caller's. say: gets a line when
    something is installed. check: called while waiting, raises to end it. UsageError when the caller names one that
    does not do, MissingProgramError without one, StackStartError when pip fails.
    """
    spec = stack.python or PythonSpec()
    name = variable("STACKPROOF_PYTHON", stack.name)
    if given := environment.get(name):
        return _named(given, name, stack.name, spec, for_tests=mode is StackMode.LIBRARY)
    if stack.python is None or mode.in_containers or mode is StackMode.REMOTE:
        return own or Path(sys.executable)
    found = _fitting(stack, spec, environment, name)
    files = (spec.requirements, spec.tests if mode is StackMode.LIBRARY else None)
    requirements = tuple(path for path in files if path is not None)
    if not requirements:
        return found.path
    return venv.prepare(
        stack.name,
        requirements,
        python=found.path,
        version=found.version,
        environment=environment,
        say=say,
        check=check,
    )


def require_this(stack: StackSpec) -> None:
    """UsageError where a library would run in this very process, whose Python is not what it needs."""
    if stack.python is not None and not stack.python.fits(sys.version_info[:2]):
        raise UsageError(
            f"stack {stack.name!r} needs {stack.python.words} in the process of its tests, "
            f"and this pytest runs in Python {sys.version_info[0]}.{sys.version_info[1]}",
            hint=f"`stackproof run --stack-config library:{stack.name}` finds one, or start pytest with one that has "
            f"the stack installed; server:{stack.name} has a process of its own",
        )


def _named(given: str, name: str, stack: str, spec: PythonSpec, *, for_tests: bool) -> Path:
    where = shutil.which(str(Path(given).expanduser()))
    found = ask(Path(where)) if where is not None else None
    if found is None:
        raise UsageError(
            f"{name} names {given}, which is no Python that runs", hint=f"stack {stack!r} needs {spec.words}"
        )
    if not spec.fits(found.minor):
        raise UsageError(
            f"{name} names {given}, which is Python {found.version}; stack {stack!r} needs {spec.words}",
            hint=f"name another one, or leave {name} out: then one that fits is looked for",
        )
    if for_tests and _say(found.path, _HAS_PYTEST) != "True":
        raise UsageError(
            f"{name} names {given}, which has no pytest, and the tests of library:{stack} run in the stack's process",
            hint="install pytest and what the tests import there, or name none: then an environment is made",
        )
    return found.path


def _fitting(stack: StackSpec, spec: PythonSpec, environment: Mapping[str, str], name: str) -> Found:
    seen: dict[str, None] = {}
    for path in candidates(environment):
        found = ask(path)
        if found is None:
            continue
        if spec.fits(found.minor):
            return found
        seen[found.version] = None
    what = ", ".join(seen) or "none"
    raise MissingProgramError(
        f"stack {stack.name!r} needs {spec.words}, and there is none: found {what}",
        hint=f"install one (with its venv module) where PATH finds it as python3.{(spec.at_least or (3, _OLDEST))[1]}, "
        f"or name one that has the stack installed: {name}=/path/to/python",
    )


def candidates(environment: Mapping[str, str]) -> Iterator[Path]:
    """Where Pythons are looked for, best first: the one that runs this, those on PATH, pyenv's and uv's."""
    yield Path(sys.executable)
    path = environment.get("PATH", os.defpath)
    names = [f"python3.{minor}" for minor in range(_NEWEST, _OLDEST - 1, -1)]
    for name in (*names, "python3", "python"):
        if (found := shutil.which(name, path=path)) is not None:
            yield Path(found)
    home = Path(environment.get("HOME") or Path.home())
    kept = (
        Path(environment.get("PYENV_ROOT") or home / ".pyenv") / "versions",
        Path(environment.get("UV_PYTHON_INSTALL_DIR") or home / ".local" / "share" / "uv" / "python"),
    )
    for folder in kept:
        yield from sorted(folder.glob("*/bin/python3"), reverse=True)


def ask(path: Path) -> Found | None:
    """What the Python at `path` says it is; None when it says nothing within 10 s (a shim without a version, say)."""
    if path == Path(sys.executable):
        return Found(path=path, version=".".join(map(str, sys.version_info[:3])))
    said = _say(path, _ASK, "-S")
    return Found(path=path, version=said) if re.fullmatch(r"\d+\.\d+\.\d+", said) else None


def _say(path: Path, program: str, *options: str) -> str:
    command = [str(path), "-I", *options, "-c", program]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=_PROBE, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
