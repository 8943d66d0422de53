"""Starts the edge of a cell as a process of this machine, and ends it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from stackproof.catalog.records import ReadinessSpec, ServiceSpec
from stackproof.edge import luggage
from stackproof.edge.addresses import HEALTH
from stackproof.edge.places import Places
from stackproof.errors import StackStartError
from stackproof.recorder.settings import VARIABLE, Settings
from stackproof.stack import ports, service
from stackproof.stack.process import Process, last_lines
from stackproof.stack.readiness import refuse_foreign, wait_ready

NAME = "edge"
LOG = "edge.log"
_FOLDER = "edge"
_READY = ReadinessSpec(path=HEALTH)
REQUIREMENTS = Path(__file__).with_name("requirements.txt")


@dataclass(frozen=True, kw_only=True, slots=True)
class RunningEdge:
    """An edge that answers. require: raises StackStartError once it has ended by itself."""

    places: Places
    pid: int
    log: Path | None
    started_in: float
    require: Callable[[], None]


def prepare(*, environment: Mapping[str, str], say: Callable[[str], None], check: Callable[[], None]) -> Path:
    """The Python of the edge, its environment made where it is missing: once for this machine, in the user's cache.

    StackStartError, with what pip said, when it cannot be made. check: called while waiting, raises to end it.
    """
    spec = ServiceSpec(
        name=NAME,
        description="the provider edge",
        folder=REQUIREMENTS.parent,
        requirements=REQUIREMENTS,
        server="",
        source=REQUIREMENTS,
    )
    try:
        return service.prepare(spec, environment=environment, say=say, check=check)
    except StackStartError as error:
        raise StackStartError(
            f"the edge needs aiohttp in an environment of its own, which could not be made: {error.message}",
            hint=f"PIP_FIND_LINKS may name a folder with wheels where there is no index\n{error.hint or ''}".strip(),
        ) from error


def free_places(own: Sequence[str], *, main: int | None = None) -> Places:
    """Ports that are free now, for the edge and for each of the providers `own`.

    main: the edge's, where it is given; those behind it are the providers' then, so that their URLs stay, too.
    """
    if main is not None:
        return Places(host=ports.LOOPBACK, main=main, own={name: main + 1 + at for at, name in enumerate(own)})
    taken: list[int] = []
    while len(taken) <= len(own):
        port = ports.free_port()
        if port not in taken:
            taken.append(port)
    return Places(host=ports.LOOPBACK, main=taken[0], own=dict(zip(own, taken[1:], strict=True)))


@contextmanager
def running(
    settings: Settings,
    where: Places,
    *,
    environment: Mapping[str, str],
    cell_dir: Path,
    log: Path | None,
    say: Callable[[str], None],
    check: Callable[[], None],
) -> Iterator[RunningEdge]:
    """The edge, ready, for as long as the context lasts; StackStartError when it is not.

    environment: what it finds the run's secrets in, so as to keep them out of files. log: None lets it write to ours.
    """
    python = prepare(environment=environment, say=say, check=check)
    for port in (where.main, *where.own.values()):
        refuse_foreign(name=NAME, port=port)
    folder = luggage.put(cell_dir / _FOLDER)
    clean = service.without_python(environment)
    process = Process(
        name=NAME,
        command=[str(python), "-P", "-m", "stackproof.edge.serve", "--host", where.host, *where.arguments()],
        environment={**clean, VARIABLE: settings.to_json(), "PYTHONPATH": str(folder.absolute())},
        cwd=folder,
        log=log,
    )

    def require() -> None:
        if process.poll() is not None:
            hint = last_lines(log, process.tail()) if log is not None else None
            raise StackStartError(f"the edge {process.ending()} by itself", hint=hint)

    try:
        process.start()
        took = wait_ready(
            process=process,
            url=where.url + HEALTH,
            readiness=_READY,
            timeout=_READY.timeout,
            run_id=settings.run_id,
            marks=None,
            check=check,
        )
        yield RunningEdge(places=where, pid=process.pid, log=log, started_in=took, require=require)
        require()
    finally:
        process.stop()
