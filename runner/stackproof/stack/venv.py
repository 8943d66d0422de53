"""Virtual environments of stacks, each made once for its requirements, in the user's cache folder."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from stackproof.stack import package_index, service


def prepare(
    name: str,
    requirements: Sequence[Path],
    *,
    python: Path,
    version: str,
    environment: Mapping[str, str],
    say: Callable[[str], None],
    check: Callable[[], None],
) -> Path:
    """The Python of the environment for stack `name`, made with `python` (of that `version`) where it is missing.

    StackStartError when pip fails. say: gets a line when something is installed. check: called while waiting.
    """
    facts = f"{platform.python_implementation()} {version.rpartition('.')[0]} {platform.machine()}\n".encode()
    state = hashlib.sha256(facts)
    for path in requirements:
        state.update(path.read_bytes())
    home = service.cache_folder(environment).parent / "stacks" / name / state.hexdigest()[:16]
    made = home / "venv" / "bin" / "python"
    if made.exists():
        return made
    home.mkdir(parents=True, exist_ok=True)
    with service.locked(home / "lock", name, check):
        if not made.exists():
            say(f"installing {name} for Python {version}, once for this machine, into {home}")
            began = time.monotonic()
            make(name, home, python, requirements, environment=environment, check=check)
            say(f"installed {name} in {time.monotonic() - began:.0f} s")
    return made


def make(
    name: str,
    home: Path,
    python: Path,
    requirements: Sequence[Path],
    *,
    environment: Mapping[str, str],
    check: Callable[[], None],
    options: Sequence[str] = (),
) -> None:
    """Make `home`/venv, complete or not at all, with a log, `home`/install.log. options: further ones of pip.

    Without requirements it has pip and nothing else.
    """
    # A virtual environment may not be moved: its scripts name their folder. What is renamed is a link to it.
    folder = home / f"venv-{os.getpid()}-{time.time_ns()}"
    log = home / "install.log"
    log.write_bytes(b"")
    clean = package_index.for_pip(service.without_python(environment))
    files = [word for path in requirements for word in ("-r", str(path))]
    steps = (
        [str(python), "-m", "venv", str(folder)],
        [
            str(folder / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check", "--no-input",
            *options, *files,
        ],
    )  # fmt: skip
    try:
        for command in steps if files else steps[:1]:
            service.step(name, command, clean, log, check)
        link = home / f"{folder.name}.link"
        link.symlink_to(folder.name)
        link.replace(home / "venv")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
