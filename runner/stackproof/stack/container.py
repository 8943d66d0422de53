"""A stack in a container of its own: started, watched, followed to a file, and gone afterwards."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile
from typing import Protocol

from stackproof.catalog.records import BesideSpec, DockerSpec, StackMode, StackSpec
from stackproof.errors import DockerError, StackStartError, UsageError
from stackproof.recorder.serve.exec_ import guest_folder
from stackproof.stack import bridge, enter, lifetime, place, ports, seen, sharing, unfit
from stackproof.stack.apart import Apart
from stackproof.stack.engine import Engine
from stackproof.stack.engine_records import ContainerSpec, ContainerState, Mount
from stackproof.stack.handle import StackHandle
from stackproof.stack.luggage import Folder
from stackproof.stack.place import Place
from stackproof.stack.process import TAIL_LINES, describe_exit, tail
from stackproof.stack.readiness import Watched, wait_ready
from stackproof.stack.stack_died import StackDiedError

_LOOK = 0.1  # seconds between two looks at a container
_FOLLOWED = 5.0
_ENDING = 1.0
# Docker's words for a mount of a folder that its machine does not have, and Podman's.
_NO_SUCH_FOLDER = ("bind source path does not exist", "statfs")
ENTER = Path(enter.__file__)


class Container:
    """A container as `readiness` watches a process: `poll`, `ending`, `tail`, its log in a file from the first byte."""

    def __init__(
        self,
        engine: Engine,
        spec: ContainerSpec,
        *,
        name: str,
        log: Path,
        shown: bool = False,
        before: Callable[[str], None] | None = None,
        after: Callable[[str], None] | None = None,
    ) -> None:
        """before, after: called with its id once it is made and not started, and once it has ended and is not gone."""
        self._shown = shown
        self._before, self._after = before, after
        self.name = name
        self.log: Path | None = log
        self._written = log
        self.started_at = 0.0
        self._engine, self._spec = engine, spec
        self._id = ""
        self._state: ContainerState | None = None
        self._looked_at = 0.0
        self._ended_at: float | None = None
        self._follower: threading.Thread | None = None

    def start(
        self, given: Mapping[str, str], python: str, *, shut: str | None = None, folders: Sequence[Path] = ()
    ) -> None:
        """Make it, start it, follow its log, and give it its variables; StackStartError when it takes none.

        shut: the word of `enter` that takes the ways out away before its program runs. folders: the run's, which it has
        to write, and that of recordings, which it has to read; DockerError when it cannot.
        """
        self.launch()
        script = self._spec.command[1]
        code = 1
        with suppress(DockerError):  # it has ended already: `poll` says how
            # One call for both: it takes as long as the start of a Python.
            first = () if shut is None else (shut, self._spec.user or "0:0")
            command = [python, "-I", "-S", script, *first, "give", *map(str, folders)]
            code = self._engine.run_inside(
                self._id, command, given=json.dumps(dict(given)).encode(), as_root=shut is not None
            )
        if folders and code in (enter.NOT_WRITABLE, enter.NOT_READABLE):
            run_dir, recordings = folders
            wrong = f"write {run_dir}" if code == enter.NOT_WRITABLE else f"read the recordings in {recordings}"
            raise DockerError(
                f"{self.name} cannot {wrong}: its container runs as user {self._spec.user}",
                hint="give that user the right to it and to the folders above; "
                f"with {sharing.VARIABLE}=copy the files are copied into the container and out of it",
            )
        if code != 0 and not self.ends():
            raise StackStartError(
                f"{self.name} did not take its variables: `{python} {script} give` exited with code {code}",
                hint=f"the image needs a {python} of version 3.11 or newer",
            )

    def launch(self) -> str:
        """Make it, start it and follow its log; its id."""
        self._state = self._ended_at = None
        try:
            self._id = self._engine.create(self._spec)
        except DockerError as error:
            if self._spec.mounts and any(words in error.message for words in _NO_SUCH_FOLDER):
                raise seen.NotSeenError(error.message, hint=error.hint) from error
            raise
        if self._before is not None:
            self._before(self._id)
        self.started_at = time.monotonic()
        self._engine.start(self._id)
        self._follower = threading.Thread(target=self._follow, name=f"log of {self.name}", daemon=True)
        self._follower.start()
        return self._id

    def adopt(self) -> None:
        """Go on with one that is there, under the name of its spec."""
        self._id, self.started_at = self._spec.name, time.monotonic()

    @property
    def id(self) -> str:
        """The engine's name for it; empty before it was made."""
        return self._id

    def poll(self) -> int | None:
        """Exit code, or None while it runs."""
        state = self._look()
        if state is None:
            return 1  # somebody removed it
        if state.code is not None and self._ended_at is None:
            self._ended_at = time.monotonic()
        return state.code

    def ends(self) -> bool:
        """Whether it has ended, or does within a second.

        A program that ends at once takes an exec with it, before the engine says that it has ended itself.
        """
        deadline = time.monotonic() + _ENDING
        while self.poll() is None:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_LOOK)
        return True

    def elapsed(self) -> float:
        """Seconds from the start to now, or to the moment its end was noticed."""
        return (self._ended_at or time.monotonic()) - self.started_at

    def ending(self) -> str:
        """How it ended, in words."""
        state = self._look()
        if state is None:
            return "was removed by somebody"
        if state.out_of_memory:
            return "was ended by the engine: it ran out of memory"
        return describe_exit(state.code) if not state.error else f"{describe_exit(state.code)} ({state.error})"

    def tail(self, lines: int = TAIL_LINES) -> tuple[str, ...]:
        """The last lines of its log that hold anything."""
        if self._ended_at is not None and self._follower is not None:
            self._follower.join(timeout=_FOLLOWED)
        return tail(self._written, lines)

    def address(self, network: str) -> str | None:
        """Its address in a network, once it has one."""
        state = self._look(fresh=True)
        return None if state is None else state.addresses.get(network)

    def signal(self, signum: int) -> None:
        """Send its program a signal; nothing happens when it is gone."""
        if self._id:
            with suppress(DockerError):
                self._engine.signal(self._id, signum)

    def stop(self, grace: float = lifetime.GRACE) -> None:
        """End it, with its log complete, and remove it. Safe to call again, and before the start."""
        try:
            if self._id:
                self._engine.stop(self._id, grace)
                if self._follower is not None:
                    self._follower.join(timeout=_FOLLOWED)
                after, self._after = self._after, None
                if after is not None:
                    after(self._id)
        finally:
            # By name: an answer of the engine that got lost must not leave it behind.
            self._engine.remove(self._spec.name)

    def _look(self, *, fresh: bool = False) -> ContainerState | None:
        now = time.monotonic()
        if fresh or self._state is None or (self._state.code is None and now - self._looked_at > _LOOK):
            self._state, self._looked_at = self._engine.state(self._id), now
        return self._state

    def _follow(self) -> None:
        with self._written.open("ab", buffering=0) as file, suppress(DockerError):
            for piece in self._engine.logs(self._id):
                file.write(piece)
                if self._shown:
                    sys.stdout.buffer.write(piece)
                    sys.stdout.flush()


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
        container, apart = seen.started(start, where, undo, guest=guest, recordings=recordings, say=say)
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
    command = command_inside(stack, required(stack), where)
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


def command_inside(stack: StackSpec | BesideSpec, docker: DockerSpec, where: Place) -> Sequence[str]:
    """The command inside: that of stack.yaml or container.yaml, or for somebody else's image its own."""
    if not stack.command:
        found = where.engine.image(where.image)
        own = (*found.entrypoint, *found.command) if found is not None else ()
        if not own:
            raise UsageError(
                f"{stack.name!r} has no `command`, and neither has its image", hint=f"add it to {stack.source}"
            )
        return own
    values = {"{python}": docker.python, "{port}": str(docker.port), "{host}": "0.0.0.0"}  # noqa: S104 - inside
    filled = []
    for part in stack.command:
        for template, value in values.items():
            part = part.replace(template, value)  # noqa: PLW2901 - braces of JSON arguments are no templates
        filled.append(part)
    return filled
