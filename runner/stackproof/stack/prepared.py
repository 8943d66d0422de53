"""Carries out what a folder needs before it can run, once for its lock files, in the user's cache folder.

`<cache>/stackproof/prepared/<name>-<digest>/` holds the named files and what the command made of them. Below it, in
`work/<digest>`, are copies of the folder as it is: programs that look for packages in the folders above theirs, as Node
does, find them there, and nothing is written into the project.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from stackproof.catalog.preparing import PrepareSpec
from stackproof.catalog.records import StackSpec
from stackproof.errors import MissingProgramError
from stackproof.evidence import age
from stackproof.stack import package_index, service, step
from stackproof.stack.process import Process

_TIMEOUT = 600.0
_PROBE = 20.0
_KEPT = 20  # copies of one folder
_DONE = ".prepared"
_WORK = "work"
_NOT_COPIED = frozenset({"node_modules", "__pycache__", ".git", ".mypy_cache", ".pytest_cache", ".ruff_cache"})


def _silent(_: str) -> None:
    return


def _never() -> None:
    return


def make(
    name: str,
    spec: PrepareSpec,
    folder: Path,
    *,
    environment: Mapping[str, str],
    say: Callable[[str], None] = _silent,
    check: Callable[[], None] = _never,
) -> Path:
    """The folder in which `spec.command` has run for `spec.files` of `folder`; it runs now where it has not.

    environment: the caller's. say: gets a line when it runs. check: called while waiting, raises to end it.
    MissingProgramError when a program is missing or too old, StackStartError when the command fails or takes more than
    600 s.
    """
    versions = {program: _version(name, program, least, environment) for program, least in spec.needs.items()}
    home = service.cache_folder(environment).parent / "prepared" / f"{name}-{_digest(spec, folder, versions)}"
    if (home / _DONE).is_file():
        return home
    home.parent.mkdir(parents=True, exist_ok=True)
    with service.locked(home.with_name(f"{home.name}.lock"), name, check):
        if not (home / _DONE).is_file():
            say(f"preparing {name} ({' '.join(spec.command[:2])}), once for this machine, into {home}")
            shutil.rmtree(home, ignore_errors=True)
            for file in spec.files:
                (home / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(folder / file, home / file)
            _run(name, spec, home, environment, check)
            (home / _DONE).touch()
    return home


def placed(home: Path, folder: Path) -> Path:
    """A copy of `folder`, as it is now, below what was prepared for it."""
    found = list(_files(folder))
    state = hashlib.sha256()
    for path in found:
        state.update(path.relative_to(folder).as_posix().encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    copy = home / _WORK / state.hexdigest()[:16]
    if copy.is_dir():
        with suppress(OSError):
            os.utime(copy)  # it is in use: others go first
        return copy
    partial = copy.with_name(f"{copy.name}.{os.getpid()}.{time.time_ns()}")
    for path in found:
        target = partial / path.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)
    try:
        partial.rename(copy)
    except OSError:  # another run has made the same
        shutil.rmtree(partial, ignore_errors=True)
    _prune(copy.parent)
    return copy


def stack(spec: StackSpec, *, environment: Mapping[str, str]) -> StackSpec:
    """A stack as its server runs: in a copy of its folder, where it needs something to be made of that first."""
    if spec.prepare is None:
        return spec
    home = make(spec.name, spec.prepare, spec.folder, environment=environment)
    copy = placed(home, spec.folder)
    return replace(
        spec,
        folder=copy,
        command=tuple(part.replace("{prepared}", str(home)) for part in spec.command),
        python_path=tuple(copy / path.relative_to(spec.folder) for path in spec.python_path),
    )


def results(home: Path) -> Iterator[Path]:
    """What the command made, beside the files that it read: folders and files right below `home`."""
    yield from sorted(path for path in home.iterdir() if path.name not in (_DONE, _WORK, "prepare.log"))


def _digest(spec: PrepareSpec, folder: Path, versions: Mapping[str, str]) -> str:
    state = hashlib.sha256(repr((spec.command, sys.platform, platform.machine(), sorted(versions.items()))).encode())
    for file in spec.files:
        state.update(file.encode() + b"\0" + hashlib.sha256((folder / file).read_bytes()).digest())
    return state.hexdigest()[:16]


def _version(name: str, program: str, least: tuple[int, ...], environment: Mapping[str, str]) -> str:
    """What a program says it is; '' where no version is asked for."""
    wanted = program if not least else f"{program} {'.'.join(map(str, least))} or newer"
    found = shutil.which(program, path=environment.get("PATH", os.defpath))
    if found is None:
        raise MissingProgramError(
            f"{name} needs {wanted}, and there is no program {program!r}", hint="install it where PATH finds it"
        )
    if not least:
        return ""
    try:
        said = subprocess.run(
            [found, "--version"],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PROBE,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise MissingProgramError(f"{name} needs {wanted}, and {found} --version fails: {error}") from error
    version = re.search(r"\d+(?:\.\d+)*", said)
    if version is None or tuple(map(int, version[0].split("."))) < least:
        raise MissingProgramError(
            f"{name} needs {wanted}, and {found} is {version[0] if version else said.strip() or 'of no version'}",
            hint="install a newer one where PATH finds it first",
        )
    return version[0]


def _run(name: str, spec: PrepareSpec, home: Path, environment: Mapping[str, str], check: Callable[[], None]) -> None:
    log = home / "prepare.log"
    words = " ".join(spec.command[:2])
    trusting = package_index.for_node(environment)
    process = Process(name=f"{name} ({words})", command=spec.command, environment=trusting, cwd=home, log=log)
    step.done(process, log, timeout=_TIMEOUT, check=check, taking=f"`{words}` for {name}")


def _files(folder: Path) -> Iterator[Path]:
    for base, below, names in os.walk(folder):
        below[:] = sorted(each for each in below if each not in _NOT_COPIED)
        yield from (Path(base, each) for each in sorted(names) if not each.endswith((".pyc", ".tmp")))


def _prune(work: Path) -> None:
    copies = sorted((path for path in work.iterdir() if path.is_dir()), key=age.changed)
    for path in copies[:-_KEPT]:
        shutil.rmtree(path, ignore_errors=True)
