"""actions/setup-python and actions/setup-node: a version of this machine, first on the path."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from ci.rehearsal.actions.call import Call, FailedError, Played
from ci.rehearsal.seed import sow

_TIMEOUT = 120
_VERSION = re.compile(r"\d+(\.\d+){0,2}")
_FINAL = re.compile(r"\d+\.\d+\.\d+")


def _python(call: Call) -> Mapping[str, str]:
    wanted = call.inputs["python-version"].split() or _from_file(call, "python-version-file")
    if not wanted:
        raise FailedError("the input 'python-version' is not given, and there is no .python-version")
    if call.inputs["cache"] not in ("", "pip", "pipenv", "poetry"):
        raise FailedError(f"the input 'cache' is not {call.inputs['cache']!r}")
    version, place = "", Path()
    for one in wanted:
        place = environment_of(one, call.pythons, call.machine.tools, call.seed)
        version = place.parent.name
        call.machine.paths[:0] = [str(place / "bin")]
    if call.flag("update-environment"):
        call.machine.variables |= {"pythonLocation": str(place), "Python_ROOT_DIR": str(place)}
    call.say(f"Python {version} is first on the path")
    return {"python-version": version, "python-path": str(place / "bin" / "python"), "cache-hit": "false"}


def environment_of(wanted: str, pythons: Path, tools: Path, seed: Path | None) -> Path:
    """A Python of a version, for one job. Raises FailedError."""
    version, source = _newest(wanted, pythons)
    place = tools / "Python" / version / "x64"
    if not place.exists():
        # What a job installs must not end up in this machine's own Python.
        _make(source, place, pip=seed is None)
        if seed is not None and not sow(place, seed):
            raise FailedError(f"--seed is an environment of another Python than {version}")
    return place


def _newest(wanted: str, pythons: Path) -> tuple[str, Path]:
    if not _VERSION.fullmatch(wanted):
        raise FailedError(f"the version {wanted!r} of Python is not played; 3.12 and 3.12.1 would be")
    have = [path for path in pythons.iterdir() if _FINAL.fullmatch(path.name)] if pythons.is_dir() else []
    fit = [path for path in have if f"{path.name}.".startswith(f"{wanted}.")]
    if not fit:
        known = ", ".join(sorted(path.name for path in have)) or "none"
        raise FailedError(f"the version {wanted!r} of Python was not found; this machine has {known}")
    best = max(fit, key=lambda path: tuple(map(int, path.name.split("."))))
    return best.name, best


def _make(source: Path, place: Path, *, pip: bool) -> None:
    done = subprocess.run(
        [str(source / "bin" / "python"), "-m", "venv", *([] if pip else ["--without-pip"]), str(place)],
        env={"PATH": os.defpath, "HOME": str(place.parent)},
        capture_output=True,
        text=True,
        timeout=_TIMEOUT,
        check=False,
    )
    if done.returncode:
        raise FailedError(f"no environment of {source.name} can be made: {(done.stderr or done.stdout).strip()}")


def _from_file(call: Call, name: str) -> list[str]:
    path = call.machine.workspace / (call.inputs[name] or ".python-version")
    if call.inputs[name] and not path.is_file():
        raise FailedError(f"the file {call.inputs[name]!r} does not exist")
    return path.read_text().split() if path.is_file() else []


def _node(call: Call) -> Mapping[str, str]:
    wanted = call.inputs["node-version"] or " ".join(_from_file(call, "node-version-file"))
    program = shutil.which("node", path=call.machine.environment()["PATH"])
    if program is None:
        raise FailedError("this machine has no Node.js")
    done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=_TIMEOUT, check=True)
    has = done.stdout.strip().removeprefix("v")
    plain = wanted.removeprefix("v").removesuffix(".x")
    if plain and not f"{has}.".startswith(f"{plain}."):
        raise FailedError(f"the version {wanted!r} of Node.js was not found; this machine has {has}")
    call.machine.paths[:0] = [str(Path(program).parent)]
    call.say(f"Node.js {has} is on the path")
    return {"node-version": has, "cache-hit": "false"}


SETUP_PYTHON = Played(
    outputs=("python-version", "python-path", "cache-hit"),
    inputs={
        **dict.fromkeys(("python-version", "python-version-file", "cache", "architecture", "token"), ""),
        **dict.fromkeys(("cache-dependency-path", "pip-version", "pip-install"), ""),
        **dict.fromkeys(("check-latest", "allow-prereleases", "freethreaded"), "false"),
        "update-environment": "true",
    },
    do=_python,
)
SETUP_NODE = Played(
    outputs=("node-version", "cache-hit"),
    inputs={
        **dict.fromkeys(("node-version", "node-version-file", "architecture", "registry-url", "scope", "token"), ""),
        **dict.fromkeys(("cache", "cache-dependency-path", "mirror", "mirror-token", "always-auth"), ""),
        "check-latest": "false",
        "package-manager-cache": "true",
    },
    do=_node,
)
