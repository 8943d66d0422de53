"""Provider services: real model servers on this machine, for record and live runs.

Each lives in a virtual environment of its own in the user's cache folder, made once per set of requirements: its
dependencies never meet those of the stack or the tests.
"""

from __future__ import annotations

import fcntl
import hashlib
import platform
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from stackproof.catalog.records import ServiceSpec
from stackproof.catalog.templates import filled
from stackproof.errors import StackStartError
from stackproof.stack import ports
from stackproof.stack import step as steps
from stackproof.stack.process import Process
from stackproof.stack.readiness import wait_ready

_INSTALL_TIMEOUT = 1800.0
_LOCK_TIMEOUT = 1800.0


@dataclass(frozen=True, kw_only=True, slots=True)
class RunningService:
    """A provider service that answers; `url` is what a setup's provider variables are set to, without slash.

    pid: None where it is a container.
    """

    name: str
    url: str
    log: Path
    started_in: float
    pid: int | None = None


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Where services live: `$XDG_CACHE_HOME/stackproof/services`, else below `~/.cache`."""
    base = environment.get("XDG_CACHE_HOME") or str(Path(environment.get("HOME") or Path.home()) / ".cache")
    return Path(base) / "stackproof" / "services"


def prepare(
    service: ServiceSpec,
    *,
    environment: Mapping[str, str],
    say: Callable[[str], None],
    check: Callable[[], None],
) -> Path:
    """The Python that runs `service`, its virtual environment made first where it is missing.

    Made under a lock and renamed when complete, so that two runs never use half of one. StackStartError when pip
    fails; `say` gets one line when something is installed; `check` is called while waiting, and raises to end it.
    """
    from stackproof.stack import venv  # noqa: PLC0415 - it is built on this module

    if service.requirements is None:
        return Path(sys.executable)
    home = cache_folder(environment) / service.name / _digest(service.requirements)
    python = home / "venv" / "bin" / "python"
    if python.exists():
        return python
    home.mkdir(parents=True, exist_ok=True)
    with locked(home / "lock", service.name, check):
        if not python.exists():
            say(f"installing {service.name}, once for this machine, into {home}")
            venv.make(
                service.name,
                home,
                Path(sys.executable),
                (service.requirements,),
                environment=environment,
                check=check,
                options=("--require-hashes",),
            )
    return python


@contextmanager
def run(
    service: ServiceSpec,
    *,
    environment: Mapping[str, str],
    cell_dir: Path,
    run_id: str,
    timeout: float | None = None,
    say: Callable[[str], None],
    check: Callable[[], None],
) -> Iterator[RunningService]:
    """`service`, prepared, started and ready, for as long as the context lasts; StackStartError when it is not.

    In a container: DockerError without an engine, or without the image, and whatever `image.prepare` raises.
    """
    if service.contained is not None:
        from stackproof.stack import service_container  # noqa: PLC0415 - what containers need is built on this module

        with service_container.running(
            service,
            service.contained,
            environment=environment,
            cache=cache_folder(environment) / service.name / "data",
            log=cell_dir / "service.log",
            run_id=run_id,
            timeout=service.readiness.timeout if timeout is None else timeout,
            say=say,
            check=check,
        ) as contained:
            yield RunningService(
                name=service.name,
                url=contained.origin + service.api_path.rstrip("/"),
                log=cell_dir / "service.log",
                started_in=contained.took,
            )
        return
    python = prepare(service, environment=environment, say=say, check=check)
    port = ports.free_port()
    cache = cache_folder(environment) / service.name / "data"
    cache.mkdir(parents=True, exist_ok=True)
    values = {"python": str(python), "port": str(port), "host": ports.LOOPBACK, "cache": str(cache)}
    process = Process(
        name=service.name,
        command=[filled(part, values) for part in service.command],
        environment=without_python(environment) if service.requirements else environment,
        cwd=service.folder,
        log=cell_dir / "service.log",
    )
    origin = f"http://{ports.LOOPBACK}:{port}"
    try:
        process.start()
        took = wait_ready(
            process=process,
            url=origin + service.readiness.path,
            readiness=service.readiness,
            timeout=service.readiness.timeout if timeout is None else timeout,
            run_id=run_id,
            marks=None,
            check=check,
        )
        yield RunningService(
            name=service.name,
            url=origin + service.api_path.rstrip("/"),
            pid=process.pid,
            log=cell_dir / "service.log",
            started_in=took,
        )
    finally:
        process.stop()


def without_python(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without what the caller's own interpreter was told, which must not reach another one."""
    own = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")
    return {name: value for name, value in environment.items() if name not in own}


def _digest(requirements: Path) -> str:
    facts = f"{platform.python_implementation()} {sys.version_info[:2]} {platform.machine()}\n".encode()
    return hashlib.sha256(facts + requirements.read_bytes()).hexdigest()[:16]


def step(name: str, command: list[str], environment: Mapping[str, str], log: Path, check: Callable[[], None]) -> None:
    """Run one step of an installation, its output in `log`; StackStartError when it fails or takes too long."""
    process = Process(name=f"{name} (install)", command=command, environment=environment, cwd=log.parent, log=log)
    what = " ".join(command[1:4])
    steps.done(
        process,
        log,
        timeout=_INSTALL_TIMEOUT,
        check=check,
        taking=f"installing {name}",
        failing=f"installing {name} failed: `python {what}`",
    )


@contextmanager
def locked(path: Path, name: str, check: Callable[[], None]) -> Iterator[None]:
    """Hold the lock of a file; StackStartError when another process has it for too long."""
    deadline = time.monotonic() + _LOCK_TIMEOUT
    with path.open("a") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                check()
                if time.monotonic() > deadline:
                    raise StackStartError(
                        f"another process has been installing {name} for {_LOCK_TIMEOUT:g} s",
                        hint=f"its lock is {path}; remove the file if no such process runs",
                    ) from None
                time.sleep(0.1)
        try:
            yield
        finally:
            # Not by closing alone: a child that was forked meanwhile would keep the lock.
            fcntl.flock(file, fcntl.LOCK_UN)
