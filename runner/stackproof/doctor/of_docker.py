"""The Docker engine that a run would use: whether it answers, what it is, its base images, what runs left on it."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stackproof.doctor.finding import Finding, missing, odd, ok, some
from stackproof.doctor.place import Place
from stackproof.errors import StackproofError
from stackproof.stack import endpoint, engine, interpreter, labels, sweep
from stackproof.stack.engine_records import EngineFacts
from stackproof.stack.place import base_of

_PATIENCE = 4.0  # seconds for the first answer: one that hangs is told before the check has to be given up
_NEARLY = 2 << 30  # bytes; an image of a stack is a few hundred MB
_BASE = "STACKPROOF_DOCKER_BASE"


@dataclass(frozen=True, kw_only=True, slots=True)
class DockerFacts:
    """where: the endpoint and who named it. error: why it does not answer, and hint: what to do.

    wanted: cells of a plain run that need it, by title. able: the project's own stacks that can run in a container.
    named: somebody chose the engine here, by a variable or a context. abandoned, going: what of ours is on it, of runs
    that were killed and of those that go on. lacking: base images that are not there, with the variable that names
    another, and the stack. room: free bytes where it keeps its data, None where that is not this machine.
    """

    where: str
    error: str | None = None
    hint: str | None = None
    wanted: tuple[str, ...] = ()
    able: tuple[str, ...] = ()
    named: bool = False
    engine: EngineFacts | None = None
    abandoned: tuple[str, ...] = ()
    going: tuple[str, ...] = ()
    lacking: tuple[tuple[str, str, str], ...] = ()
    room: int | None = None


def look(place: Place) -> DockerFacts:
    """Ask the engine for what it is, for base images, and for what carries our label."""
    cells = place.chosen.planned.cells if place.chosen.planned is not None else ()
    wanted = tuple(cell.title for cell in cells if cell.mode.in_containers)
    able = tuple(_able(place))
    try:
        where = endpoint.choose(place.environ)
    except StackproofError as error:
        return DockerFacts(where="", error=error.message, hint=error.hint, wanted=wanted, able=able, named=True)
    named = where.source not in ("default", "XDG_RUNTIME_DIR")
    try:
        with contextlib.closing(engine.connect(place.environ, patience=_PATIENCE)) as found:
            items = sweep.listed(found)
            gone = {item.name for item in items if labels.is_abandoned(item.labels, now=place.now)}
            return DockerFacts(
                where=str(where),
                wanted=wanted,
                able=able,
                named=named,
                engine=found.facts,
                abandoned=tuple(f"{item.kind} {item.name}" for item in items if item.name in gone),
                going=tuple(f"{item.kind} {item.name}" for item in items if item.name not in gone),
                lacking=tuple(_lacking(place, found)),
                room=_room(found.facts),
            )
    except StackproofError as error:
        return DockerFacts(
            where=str(where), error=error.message, hint=error.hint, wanted=wanted, able=able, named=named
        )


def judge(facts: DockerFacts) -> Iterator[Finding]:
    """Is there one, and does a plain run need it?"""
    if facts.error is not None:
        yield _unreached(facts, facts.error)
        return
    if facts.engine is None:
        return
    about = facts.engine
    kind = f"{about.product} {about.version}" + (", rootless" if about.rootless else "")
    yield ok(
        "docker.engine",
        kind,
        f"answers with API {about.api[0]}.{about.api[1]} on {about.system or about.architecture}, at {facts.where}",
    )
    for name, variable, stack in facts.lacking:
        make = missing if facts.wanted else odd
        yield make(
            "docker.base-image",
            name,
            f"is the image that {stack} starts from in a container, and is not on the engine",
            f"`docker pull {name}`, or name one that is there in {variable}",
        )
    if facts.abandoned:
        yield odd(
            "docker.abandoned",
            "the engine",
            f"has {some(facts.abandoned)} of runs that were killed",
            "the next run with containers removes them, and `stackproof stack down` does now",
        )
    if facts.going:
        yield ok("docker.running", "runs that go on", f"have {some(facts.going)} there")
    if facts.room is not None and facts.room < _NEARLY:
        yield odd(
            "docker.disk",
            "the engine's disk",
            f"has {facts.room >> 20} MB left, and an image of a stack takes a few hundred",
            "`docker system df` tells what takes the room, `stackproof stack down --images` removes images of stacks",
        )


def _unreached(facts: DockerFacts, error: str) -> Finding:
    remedy = facts.hint or "start the engine"
    if facts.wanted:
        run = f"{error}; a plain run needs it for {', '.join(facts.wanted)}"
        return missing("docker.engine", "docker", run, remedy)
    if facts.able or facts.named:
        need = (
            f"only {', '.join(facts.able)} need{'s' if len(facts.able) == 1 else ''} it"
            if facts.able
            else "nothing of this project needs it"
        )
        return odd("docker.engine", "docker", f"{error}; {need}", remedy)
    return ok("docker.engine", "docker", f"{error}; nothing here needs one")


def _able(place: Place) -> Iterator[str]:
    known = place.chosen.known
    for spec in known.stacks.values() if known is not None else ():
        if place.is_project and spec.source.is_relative_to(place.project):
            yield from (f"{mode}:{spec.name}" for mode in spec.modes if mode.in_containers)


def _lacking(place: Place, found: engine.Engine) -> Iterator[tuple[str, str, str]]:
    """Images that stacks in containers start from: those of a plain run, or else those of the project."""
    known, planned = place.chosen.known, place.chosen.planned
    stacks = [cell.stack for cell in planned.cells if cell.mode.in_containers] if planned is not None else []
    if not stacks and known is not None and place.is_project:
        stacks = [spec for spec in known.stacks.values() if spec.source.is_relative_to(place.project)]
    bases: dict[str, str] = {}
    for spec in stacks:
        if spec.docker is not None:
            bases.setdefault(spec.docker.image or base_of(spec, place.environ) or spec.docker.base, spec.name)
    for name, stack in bases.items():
        if found.image(name) is None:
            yield name, interpreter.variable(_BASE, stack), stack


def _room(facts: EngineFacts) -> int | None:
    folder = Path(facts.root) if facts.root else None
    if folder is None or not folder.is_dir():
        return None
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None
