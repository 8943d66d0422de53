"""What runs in containers beside a stack: started one after another, watched, and gone afterwards.

Their images belong to other people and need no Python. So their variables come to them by `sh`: it waits for a file in
memory, which an exec writes from its standard input, reads it, removes it, and becomes the image's own command.
"""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import assert_never

from stackproof.catalog.records import BesideSpec, Until
from stackproof.catalog.templates import filled
from stackproof.errors import DockerError, StackStartError, UsageError
from stackproof.plaintext import number
from stackproof.stack import answering, bridge, enter, image, labels, seen
from stackproof.stack.container import Container
from stackproof.stack.engine_records import ContainerSpec
from stackproof.stack.place import Place
from stackproof.stack.process import last_lines, shown
from stackproof.stack.readiness import wait_ready
from stackproof.stack.stack_container import command_inside
from stackproof.stack.stack_died import StackDiedError
from stackproof.stack.way_out import WayOut
from stackproof.suggest import did_you_mean

_STEP = 0.05
_GIVEN = f"{enter.FOLDER}/given"
# $0 is the file; whoever made this container is gone when it does not come.
_RUN = (
    'n=0; while [ ! -e "$0" ]; do sleep 0.05 2>/dev/null || sleep 1; n=$((n+1)); '
    '[ $n -lt 2400 ] || { echo "stackproof: nobody gave this container its variables" >&2; exit 70; }; done; '
    '. "$0"; rm -f "$0"; exec "$@"'
)
_GIVE = 'umask 077; cat >"$0.partial" && mv "$0.partial" "$0"'


@dataclass(frozen=True, kw_only=True, slots=True)
class Beside:
    """Everything that runs beside a stack. where: the place, in which it can be called by its names.

    provided: variables of the stack that say where it is.
    """

    where: Place
    provided: Mapping[str, str]

    @property
    def reachable(self) -> tuple[str, ...]:
        """Names and addresses that belong to the run itself."""
        return (*self.where.hosts, *self.where.hosts.values())


def start(
    specs: Sequence[BesideSpec],
    where: Place,
    undo: ExitStack,
    *,
    variables: Mapping[str, str],
    cell_dir: Path,
    timeout: float | None,
    environment: Mapping[str, str],
    say: Callable[[str], None],
    check: Callable[[], None],
    helper: Place | None = None,
) -> Beside:
    """Start `specs`, which are in order, each once the one before it is ready; `undo` ends them in turn.

    variables: of the stack, for those that a container's `env` names. timeout: seconds, in place of their own.
    environment: the caller's. helper: the place with another image, where that of the stack has no Python. Raises what
    `image.prepare` does, and StackStartError for one that does not become ready.
    """
    images = [
        image.prepare(where.engine, spec, base=None, environment=environment, say=say, check=check)[0] for spec in specs
    ]
    provided: dict[str, str] = {}
    helper = helper or where
    way_out = WayOut(helper, say, check)
    for spec, tag in zip(specs, images, strict=True):
        given = {name: _filled(spec, name, text, {**variables, **provided}) for name, text in spec.env.items()}
        address = undo.enter_context(
            _running(
                spec,
                replace(where, image=tag),
                given,
                helper=helper,
                way_out=way_out,
                cell_dir=cell_dir,
                timeout=timeout,
                say=say,
                check=check,
            )
        )
        if address is not None:
            where = replace(where, hosts={**where.hosts, spec.name: address})
        values = {"host": spec.name, "port": str(spec.docker.port)}
        provided |= {name: filled(text, values) for name, text in spec.provides.items()}
    return Beside(where=where, provided=provided)


@contextmanager
def _running(
    spec: BesideSpec,
    where: Place,
    given: Mapping[str, str],
    *,
    helper: Place,
    way_out: WayOut,
    cell_dir: Path,
    timeout: float | None,
    say: Callable[[str], None],
    check: Callable[[], None],
) -> Iterator[str | None]:
    """One of them, ready, for as long as the context lasts; gives its address, None for one that has completed.

    helper: the place with an image whose Python does what this one's cannot. StackDiedError when it has ended by itself
    since.
    """
    log = cell_dir / f"{spec.name}.log"
    container = Container(
        where.engine,
        ContainerSpec(
            name=where.name(f"beside-{spec.name}"),
            image=where.image,
            entrypoint=("sh", "-c", _RUN, _GIVEN),
            command=tuple(command_inside(spec, spec.docker, where, given)),
            labels={**where.labels, labels.SERVICE: spec.name},
            network=where.network,
            aliases=(spec.name,),
            hosts=where.hosts,
            tmpfs=(enter.FOLDER, *spec.memory),
        ),
        name=spec.name,
        log=log,
    )
    with _gone_afterwards(container):
        container.launch()
        way_out.close(container)
        _give(container, given, where)
        limit = spec.readiness.timeout if timeout is None else timeout
        match spec.until:
            case Until.COMPLETED:
                _completed(container, limit, check)
                address = None
            case Until.HEALTHY:
                address = container.address(where.network)
                with _called(spec, helper, address, cell_dir=cell_dir, say=say) as at:
                    _healthy(container, spec, where, at=at, limit=limit, check=check)
            case _:
                assert_never(spec.until)
        what = "completed" if address is None else "ready"
        say(f"● {spec.name} {what} in {container.elapsed():.1f} s, in a container   log {shown(log)}")
        yield address
        if address is not None and (code := container.poll()) is not None:
            raise StackDiedError(
                f"{spec.name} {container.ending()} while the tests ran, {container.elapsed():.1f} s after its start",
                code=code,
                hint=last_lines(log, container.tail()),
            )


@contextmanager
def _gone_afterwards(container: Container) -> Iterator[None]:
    try:
        yield
    except BaseException:
        # The first error is the one to tell; what stays now goes with the network.
        with suppress(DockerError):
            container.stop()
        raise
    container.stop()


def _give(container: Container, given: Mapping[str, str], where: Place) -> None:
    text = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in given.items())
    code = 1
    with suppress(DockerError):  # it has ended already: the wait says how
        code = where.engine.run_inside(container.id, ["sh", "-c", _GIVE, _GIVEN], given=text.encode())
    if code != 0 and not container.ends():
        raise StackStartError(
            f"{container.name} did not take its variables: `sh` in it exited with code {code}",
            hint=f"its image needs `sh`, `cat` and `mv`, and a user who may write to {enter.FOLDER}",
        )


@contextmanager
def _called(
    spec: BesideSpec, helper: Place, address: str | None, *, cell_dir: Path, say: Callable[[str], None]
) -> Iterator[str]:
    """Where this machine asks one over HTTP whether it is ready: host:port."""
    # One that has ended has no address; the wait says how it ended.
    at = f"{address or spec.name}:{spec.docker.port}"
    if spec.asked or address is None or seen.reached(helper, address, spec.docker.port):
        yield at
        return
    guest = cell_dir / "beside"
    guest.mkdir(exist_ok=True)
    say(f"{spec.name}'s address, {address}, cannot be reached from here: until it is ready a container leads to it")
    with bridge.across(helper, at, python=helper.python, guest=guest, name=f"way-{spec.name}") as led:
        yield led


def _healthy(
    container: Container, spec: BesideSpec, where: Place, *, at: str, limit: float, check: Callable[[], None]
) -> None:
    if spec.asked:
        answering.wait(container, spec.asked, where.engine, limit, check)
        return
    wait_ready(
        process=container,
        url=f"http://{at}{spec.readiness.path}",
        readiness=spec.readiness,
        timeout=limit,
        run_id="",
        marks=None,
        check=check,
    )


def _completed(container: Container, limit: float, check: Callable[[], None]) -> None:
    deadline = container.started_at + limit
    while (code := container.poll()) is None:
        check()
        if time.monotonic() >= deadline:
            raise StackStartError(
                f"{container.name} has not completed after {number(limit)} s",
                hint=last_lines(container.log, container.tail()),
            )
        time.sleep(_STEP)
    if code != 0:
        raise StackStartError(
            f"{container.name} {container.ending()} after {container.elapsed():.1f} s; it has to end with 0",
            hint=last_lines(container.log, container.tail()),
        )


def _filled(spec: BesideSpec, name: str, text: str, variables: Mapping[str, str]) -> str:
    def value(found: re.Match[str]) -> str:
        if found[1] not in variables:
            raise UsageError(
                f"{name} of container {spec.name!r} is made of {found[1]}, which this run does not have"
                + did_you_mean(found[1], variables),
                hint=f"name it in the setup, or give it with --env; {spec.source} says {name}: {text!r}",
            )
        return variables[found[1]]

    return re.sub(r"\{([A-Za-z_]\w*)\}", value, text)
