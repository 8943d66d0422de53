"""The stack in a container of its own: what it is given, its address, and the wait until it answers."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile
from typing import Protocol

from stackproof.catalog.records import BesideSpec, DockerSpec, StackMode, StackSpec
from stackproof.environment import EVERY_ADDRESS
from stackproof.errors import DockerError, UsageError
from stackproof.recorder.budget import Limits
from stackproof.recorder.serve.exec_ import guest_folder
from stackproof.recorder.settings import VARIABLE, Settings
from stackproof.stack import bridge, enter, place, ports, seen, unfit
from stackproof.stack.apart import Apart
from stackproof.stack.command import completed
from stackproof.stack.container import Container
from stackproof.stack.engine_records import ContainerSpec, Mount
from stackproof.stack.handle import StackHandle
from stackproof.stack.luggage import Folder
from stackproof.stack.place import Place
from stackproof.stack.readiness import Watched, wait_ready
from stackproof.stack.stack_died import StackDiedError

ENTER = Path(enter.__file__)


@contextmanager
def server(
    stack: StackSpec,
    where: Place,
    *,
    variables: Mapping[str, str],
    cell_dir: Path,
    recordings: Folder,
    timeout: float | None,
    say: Callable[[str], None],
    check: Callable[[], None],
) -> Iterator[StackHandle]:
    """The stack in a container of `where`, ready, for as long as the context lasts.

    variables: of the program inside, secrets among them. recordings: the folder of recordings, which it only reads, and
    those that go into a container which does not see the folder. The handle's `base_url` is the container's address in
    its network, or a way to it. StackStartError when it does not become ready, StackDiedError when it has ended by
    itself, DockerError when not all that it wrote came out of a container that does not see this machine's folders.
    """
    docker = required(stack)
    own = prepared(stack, where, variables=variables, cell_dir=cell_dir)
    guest = own.guest

    def start(apart: Apart | None, undo: ExitStack) -> Container:
        container = Container(
            where.engine,
            ContainerSpec(
                name=where.name(stack.name),
                image=where.image,
                entrypoint=(),
                command=(docker.python, str(own.script), "run", "--", *own.command),
                labels=where.labels,
                user=place.caller(where.engine),
                network=where.network,
                hosts=where.hosts,
                mounts=()
                if apart is not None
                else (
                    Mount(source=place.shared(cell_dir), target=str(cell_dir.absolute())),
                    Mount(source=place.shared(recordings.path), target=str(recordings.path.absolute()), read_only=True),
                    *no_names(guest, where),
                ),
                tmpfs=(enter.FOLDER,),
                capabilities=("NET_ADMIN",) if where.internal else (),
            ),
            name=stack.name,
            log=cell_dir / "stack.log",
            before=apart.put if apart is not None else seen.required(where, guest),
            after=apart.bring if apart is not None else None,
        )
        undo.callback(container.stop)
        shut = None if not where.internal else "shut" if apart is None else "unname"
        folders = (cell_dir.absolute(), recordings.path.absolute())
        container.start(own.given, docker.python, shut=shut, folders=folders)
        if apart is not None:
            apart.watch(container, docker.python, guest)
        return container

    with ExitStack() as undo:
        container, apart = seen.started(
            start, where, undo, guest=guest, recordings=recordings, no_copies=_split(where, own.given), say=say
        )
        origin = undo.enter_context(way(stack, where, container, guest=guest, say=say))
        took = ready(
            stack,
            where,
            container,
            origin,
            given=own.given,
            cell_dir=cell_dir if own.recorded else None,
            timeout=timeout,
            check=check,
        )
        # Whoever brings out what it writes takes its end for a failure.
        with answering(stack, container, origin, took, early=apart is None) as handle:
            yield handle
    if apart is not None:
        apart.require(stack.name)


def _split(where: Place, given: Mapping[str, str]) -> DockerError | None:
    """A budget is one account in the run's folder: two that are copied back and forth would spend it twice."""
    if VARIABLE not in given or Settings.from_json(given[VARIABLE]).limits == Limits():
        return None
    return DockerError(
        f"the Docker engine at {where.engine.endpoint} shares no folders with this machine, and a budget of the stack "
        "and its tests together is kept in one of them",
        hint="leave --max-requests, --max-tokens and --max-seconds out, or use the engine of this machine",
    )


@contextmanager
def way(
    stack: StackSpec, where: Place, container: Container, *, guest: Path, say: Callable[[str], None]
) -> Iterator[str]:
    """The stack's URL as this machine can call it, by a container that leads there where its address cannot be."""
    docker = required(stack)
    address = container.address(where.network)
    # One that has ended has no address; the wait says how it ended.
    at = f"{address or stack.name}:{docker.port}"
    with ExitStack() as undo:
        if address is not None and not seen.reached(where, address, docker.port):
            say(f"the stack's address, {address}, cannot be reached from here: a container leads to it")
            at = undo.enter_context(bridge.across(where, at, python=docker.python, guest=guest))
        yield f"http://{at}"


def ready(
    stack: StackSpec,
    where: Place,
    process: Watched,
    origin: str,
    *,
    given: Mapping[str, str],
    cell_dir: Path | None,
    timeout: float | None,
    check: Callable[[], None],
) -> float:
    """Wait until the stack answers at `origin`; seconds since its start. cell_dir: None without the recorder in it."""
    with unfit.told(process, image=where.image, python=required(stack).python, source=stack.source):
        return wait_ready(
            process=process,
            url=origin + stack.readiness.path,
            readiness=stack.readiness,
            timeout=stack.readiness.timeout if timeout is None else timeout,
            run_id=given.get("STACKPROOF_RUN_ID", ""),
            marks=None if cell_dir is None else cell_dir / "marks",
            check=check,
        )


class Signalled(Watched, Protocol):
    """What can also be told to end."""

    def signal(self, signum: int) -> None:
        """Send it a signal, and do not wait; nothing happens when it is gone."""


@contextmanager
def answering(
    stack: StackSpec, process: Signalled, origin: str, took: float, *, early: bool = True
) -> Iterator[StackHandle]:
    """The handle of a stack that is ready; StackDiedError at the end when it has ended by itself."""
    told = False

    def end() -> None:
        nonlocal told
        if early and not told and process.poll() is None:
            told = True
            process.signal(signal.SIGTERM)

    yield StackHandle(
        name=stack.name,
        mode=StackMode.DOCKER,
        base_url=origin,
        log=process.log,
        started_in=took,
        ended=lambda: None if process.poll() is None else process.ending(),
        end=end,
    )
    if not told and (code := process.poll()) is not None:
        raise StackDiedError(
            f"{stack.name} {process.ending()} while the tests ran, {process.elapsed():.1f} s after its start",
            code=code,
            hint="\n".join(("see " + str(process.log), *(f"  {line}" for line in process.tail()))),
        )


def required(stack: StackSpec) -> DockerSpec:
    """The stack's `docker` section; UsageError without one."""
    if stack.docker is None:
        raise UsageError(f"stack {stack.name!r} has no `docker` section", hint=f"add it to {stack.source}")
    return stack.docker


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepared:
    """What a stack needs in its container. guest: folder with the recorder, and `script`, `enter.py`, in it.

    command: of the stack. given: its variables. recorded: whether the recorder is loaded in it.
    """

    guest: Path
    script: Path
    command: Sequence[str]
    given: Mapping[str, str]
    recorded: bool


def prepared(stack: StackSpec, where: Place, *, variables: Mapping[str, str], cell_dir: Path) -> Prepared:
    """Put what it needs into the folder of the cell."""
    guest = Path(guest_folder(str(cell_dir / "guest")))
    script = guest / ENTER.name
    copyfile(ENTER, script)
    given = dict(variables)
    recorded = stack.under_exec and given.get("STACKPROOF_INFERENCE_MODE", "replay") != "live"
    if recorded:
        given["PYTHONPATH"] = ":".join(filter(None, (str(guest), given.get("PYTHONPATH"))))
    command = command_inside(stack, required(stack), where, variables)
    return Prepared(guest=guest, script=script, command=command, given=given, recorded=recorded)


def no_names(guest: Path, where: Place) -> tuple[Mount, ...]:
    """In a network without a way out: nobody to ask for names. The engine would ask the machine's name server, which
    is a way out too, and a slow one where there is none."""
    if not where.internal:
        return ()
    file = guest / "resolv.conf"
    if not file.exists():  # a container that is handed on has it already
        file.write_text(f"nameserver {ports.LOOPBACK}\noptions timeout:1 attempts:1\n")
    return (Mount(source=str(file.absolute()), target="/etc/resolv.conf", read_only=True),)


def command_inside(
    stack: StackSpec | BesideSpec, docker: DockerSpec, where: Place, variables: Mapping[str, str]
) -> Sequence[str]:
    """The command inside: that of stack.yaml or container.yaml, or for somebody else's image its own."""
    if not stack.command:
        found = where.engine.image(where.image)
        own = (*found.entrypoint, *found.command) if found is not None else ()
        if not own:
            raise UsageError(
                f"stack {stack.name!r} has no `command`, and neither has its image", hint=f"add it to {stack.source}"
            )
        return own
    return completed(
        stack.command,
        python=docker.python,
        host=EVERY_ADDRESS,
        port=docker.port,
        folder=docker.folder,
        variables=variables,
    )
