"""The Python that the tests of a project run with, and its stack where that asks for none: whoever has the SDKs.

Usually it is Stackproof's own. Stackproof may also live in an environment of its own, where uvx, `uv tool` or pipx have
put it: no package of the project is in there, so the project's environment runs the tests, and Stackproof comes along.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from stackproof.errors import UsageError
from stackproof.stack import interpreter

_OLDEST = (3, 11)
_PYTHON = Path("bin") / "python"
_NAMES = ("--python", "STACKPROOF_PYTHON, or python in [tool.stackproof]")


def choose(
    given: str | None, project: Path, *, environment: Mapping[str, str], say: Callable[[str], None] = lambda _: None
) -> Path:
    """The Python. given: the option, a path (from the project) or a name on PATH. say: told where it is not ours.

    UsageError for one that does not run, or is too old.
    """
    if given is not None:
        return _required(_named(given, project, environment), given, f"{_NAMES[0]} names")
    installer = installed_by(Path(sys.prefix))
    if installer is None:
        return Path(sys.executable)
    for folder, why in _environments(project, environment):
        if (python := folder / _PYTHON).exists():
            found = _required(python, str(python), f"{why} is")
            say(f"tests run with {_shown(python, project)} ({why}); Stackproof itself was installed by {installer}")
            return found
    say(
        f"tests run with Stackproof's own Python, which {installer} made: no package of the project is in it\n"
        f"  make .venv in the project, activate an environment, or name one: {_NAMES[0]} PATH"
    )
    return Path(sys.executable)


def installed_by(prefix: Path) -> str | None:
    """What made the environment at `prefix` for a tool alone: uvx, `uv tool` or pipx; None for any other.

    uv leaves a receipt in what it installs, keeps what uvx runs in the archive of its cache; pipx leaves its metadata.
    """
    if (prefix / "uv-receipt.toml").is_file():
        return "uv tool"
    if (prefix / "pipx_metadata.json").is_file():
        return "pipx"
    return "uvx" if prefix.parent.name.startswith("archive-v") and (prefix / "pyvenv.cfg").is_file() else None


def _environments(project: Path, environment: Mapping[str, str]) -> list[tuple[Path, str]]:
    active = environment.get("VIRTUAL_ENV", "")
    found = [] if not active or Path(active) == Path(sys.prefix) else [(Path(active), "VIRTUAL_ENV")]
    return [*found, (project / ".venv", "the project's .venv")]


def _named(given: str, project: Path, environment: Mapping[str, str]) -> Path:
    path = project / Path(given).expanduser()
    # A folder is taken for an environment; one of the project that is called `env`, say, comes before any program.
    if (inside := path / _PYTHON).exists():
        return inside
    found = None if path.exists() or "/" in given else shutil.which(given, path=environment.get("PATH", os.defpath))
    return path if found is None else Path(found)


def _required(path: Path, said: str, who: str) -> Path:
    found = interpreter.ask(path)
    if found is None:
        raise UsageError(f"{who} {said}, which is no Python that runs", hint=f"{_NAMES[0]} names another ({_NAMES[1]})")
    if found.minor < _OLDEST:
        raise UsageError(
            f"{who} {said}, which is Python {found.version}; Stackproof's plugin needs 3.11 or newer in the tests",
            hint=f"make an environment with a newer one, and name it: {_NAMES[0]} PATH ({_NAMES[1]})",
        )
    return path.absolute()


def _shown(path: Path, project: Path) -> str:
    return str(path.relative_to(project)) if path.is_relative_to(project) else str(path)
