"""Starts the stack of a cell, in the way its mode says, and ends it."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_never

from stackproof import garbage
from stackproof.catalog.records import StackMode, StackSpec
from stackproof.errors import StackproofError, StackStartError, UsageError
from stackproof.evidence import jsonfile
from stackproof.stack import ports
from stackproof.stack.command import beside, completed
from stackproof.stack.handle import StackHandle
from stackproof.stack.process import Process
from stackproof.stack.readiness import probe, refuse_foreign, wait_ready
from stackproof.stack.stack_died import StackDiedError

if TYPE_CHECKING:
    from stackproof.plan import Cell
    from stackproof.stack.inprocess import InProcessApp

IN_PROCESS_URL = "http://stack.invalid"
"""Base URL of a library stack: a name that no resolver knows, since nothing listens anywhere."""


INSIDE = "STACKPROOF_INSIDE"
"""Set where tests and library run in one container."""

ERROR = "stack_error.json"
"""Why a library stack did not start, in the folder of its cell: it happens inside the process of the tests."""


def error_facts(error: StackproofError) -> dict[str, Any]:
    """An expected error as `outcome.json` holds it."""
    return {
        "kind": type(error).__name__,
        "message": error.message,
        "hint": error.hint,
        "exit_code": int(error.exit_code),
    }


def _never() -> None:
    return


def base_url(stack: StackSpec, mode: StackMode, port: int | None) -> str | None:
    """Where the stack will answer, known before it starts: its environment has to carry it. None: not known."""
    match mode:
        case StackMode.LIBRARY | StackMode.DOCKER_LIBRARY:
            return IN_PROCESS_URL
        case StackMode.SERVER:
            return f"http://{ports.LOOPBACK}:{stack.port or port}"
        case StackMode.REMOTE:
            return stack.url
        case StackMode.DOCKER:
            # Connections to it are handed on into the container, wherever that is.
            return f"http://{ports.LOOPBACK}:{port}"
    assert_never(mode)


@contextmanager
def start(
    *,
    cell: Cell,
    environment: Mapping[str, str],
    cell_dir: Path,
    timeout: float | None,
    port: int | None,
    python: Path | None = None,
    check: Callable[[], None] = _never,
) -> Iterator[StackHandle]:
    """The running stack of `cell`, for as long as the context lasts.

    environment: all variables of the stack's process. python: what {python} is in its command; None: ours. port: the
    one that `base_url` was made with; None lets the kernel choose. timeout: seconds until it must be ready; None takes
    what its stack.yaml says. check: called while waiting, raises to end the wait. Raises StackStartError
    when the stack does not become ready, UsageError for a mode it does not have. Library stacks run in this very
    process, so only the process of the tests asks for one.
    """
    if cell.mode not in cell.stack.modes:
        raise UsageError(
            f"stack {cell.stack.name!r} does not run as {cell.mode.value}",
            hint="it runs as: " + ", ".join(mode.value for mode in cell.stack.modes),
        )
    match cell.mode:
        case StackMode.LIBRARY:
            with _library(cell.stack, environment, cell_dir / ERROR, cell.stack.python_path) as handle:
                yield handle
        case StackMode.DOCKER_LIBRARY if INSIDE in environment:
            # The import path is the image's: what lies in the project is not what was built.
            with _library(cell.stack, environment, cell_dir / ERROR, ()) as handle:
                yield handle
        case StackMode.SERVER:
            with _server(
                cell.stack,
                environment,
                cell_dir=cell_dir,
                timeout=timeout,
                port=port,
                python=python or Path(sys.executable),
                check=check,
            ) as handle:
                yield handle
        case StackMode.DOCKER | StackMode.DOCKER_LIBRARY:
            raise UsageError(
                f"pytest by itself does not start {cell.mode.value}:{cell.stack.name}",
                hint=f"`stackproof run --stack-config {cell.mode.value}:{cell.stack.name}` does",
            )
        case StackMode.REMOTE:
            yield _remote(cell.stack)
        case _:
            assert_never(cell.mode)


@contextmanager
def _library(
    stack: StackSpec, environment: Mapping[str, str], error_file: Path, python_path: tuple[Path, ...]
) -> Iterator[StackHandle]:
    began = time.monotonic()
    with ExitStack() as undo:
        undo.enter_context(_environment(environment))
        undo.enter_context(_import_path(python_path))
        try:
            with _own_warnings(), garbage.no_search():
                running = undo.enter_context(_running(stack, stack.app)) if stack.app is not None else None
        except StackproofError as error:
            # pytest's own exit codes say something else by the same numbers, so the reason goes beside them.
            jsonfile.write(error_file, error_facts(error))
            raise
        yield StackHandle(
            name=stack.name,
            mode=StackMode.LIBRARY,
            base_url=IN_PROCESS_URL,
            app=running,
            started_in=time.monotonic() - began,
        )


@contextmanager
def _server(
    stack: StackSpec,
    environment: Mapping[str, str],
    *,
    cell_dir: Path,
    timeout: float | None,
    port: int | None,
    python: Path,
    check: Callable[[], None],
) -> Iterator[StackHandle]:
    if not stack.command:
        raise UsageError(f"stack {stack.name!r} has no `command` to run as a server", hint=f"add it to {stack.source}")
    chosen = stack.port or port or ports.free_port()
    refuse_foreign(name=stack.name, port=chosen)
    log = cell_dir / "stack.log"
    origin = f"http://{ports.LOOPBACK}:{chosen}"
    process = Process(
        name=stack.name,
        command=_command(stack, chosen, python, environment),
        environment=environment,
        cwd=stack.cwd or stack.folder,
        log=log,
    )
    try:
        process.start()
        took = wait_ready(
            process=process,
            url=origin + stack.readiness.path,
            readiness=stack.readiness,
            timeout=stack.readiness.timeout if timeout is None else timeout,
            run_id=environment.get("STACKPROOF_RUN_ID", ""),
            marks=cell_dir / "marks" if stack.under_exec and _recorded(environment) else None,
            check=check,
        )
        yield StackHandle(
            name=stack.name,
            mode=StackMode.SERVER,
            base_url=origin,
            log=log,
            pid=process.pid,
            started_in=took,
            ended=lambda: None if process.poll() is None else process.ending(),
        )
        if (code := process.poll()) is not None:
            raise StackDiedError(
                f"{stack.name} {process.ending()} while the tests ran, {process.elapsed():.1f} s after its start",
                code=code,
                hint="\n".join(("see " + str(log), *(f"  {line}" for line in process.tail()))),
            )
    finally:
        process.stop()


def _remote(stack: StackSpec) -> StackHandle:
    """A stack that somebody else started: it only has to answer, whatever it says."""
    began = time.monotonic()
    origin = (stack.url or "").rstrip("/")
    answer = probe(origin + stack.readiness.path, "")
    if answer.status is None:
        raise StackStartError(f"the stack at {origin} {answer}", hint="start it, or let the run do so: server:NAME")
    return StackHandle(name=stack.name, mode=StackMode.REMOTE, base_url=origin, started_in=time.monotonic() - began)


def _command(stack: StackSpec, port: int, python: Path, variables: Mapping[str, str]) -> list[str]:
    command = completed(
        stack.command,
        python=str(python),
        host=ports.LOOPBACK,
        port=port,
        folder=str(stack.folder),
        variables=variables,
    )
    command = beside(python, command)
    # `stackproof exec`, without the commands that it would load for nothing.
    into = [sys.executable, "-P", "-m", "stackproof.recorder.serve.exec_", "--"] if stack.under_exec else []
    return [*into, *command]


def _recorded(environment: Mapping[str, str]) -> bool:
    # In live mode nothing is installed, so nothing leaves a mark.
    return environment.get("STACKPROOF_INFERENCE_MODE", "replay") != "live"


def _application(stack: StackSpec, place: str) -> Any:
    """What `place` (`module:name`) names: an application, or what a function of that name gives."""
    module, _, name = place.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
        return found() if _is_factory(found) else found
    except StackproofError:
        raise
    except Exception as error:
        # Whatever the foreign code raises: the stack did not start, and its traceback is the cause to look at.
        raise StackStartError(
            f"{stack.name} could not be made from {place}: {type(error).__name__}: {error}",
            hint=f"its stack.yaml is {stack.source}",
        ) from error


def _running(stack: StackSpec, place: str) -> InProcessApp:
    from stackproof.stack.inprocess import InProcessApp  # noqa: PLC0415 - a server run never loads it

    return InProcessApp(_application(stack, place), stop_timeout=stack.stop_timeout)


def _is_factory(found: Any) -> bool:
    """Whether it may be called without arguments; an ASGI application takes three."""
    try:
        inspect.signature(found).bind()
    except TypeError:
        return False
    except ValueError:  # no signature can be told
        return callable(found)
    return True


@contextmanager
def _own_warnings() -> Iterator[None]:
    """What the stack warns of while it starts is told, as in a server, and is no error of the tests around it.

    Filters of the tests are in force again for what follows.
    """
    with warnings.catch_warnings():
        warnings.resetwarnings()
        yield


@contextmanager
def _import_path(folders: tuple[Path, ...]) -> Iterator[None]:
    added = [str(folder) for folder in folders if str(folder) not in sys.path]
    sys.path[:0] = added
    try:
        yield
    finally:
        for folder in added:
            if folder in sys.path:
                sys.path.remove(folder)


@contextmanager
def _environment(wanted: Mapping[str, str]) -> Iterator[None]:
    """The stack's variables in this process's environment: a library reads them where it is."""
    before = {name: os.environ.get(name) for name in wanted if os.environ.get(name) != wanted[name]}
    os.environ.update({name: wanted[name] for name in before})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
