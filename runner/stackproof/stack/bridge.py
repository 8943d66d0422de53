"""A container that hands connections on to one whose own address cannot be reached from this machine."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copyfile

from stackproof.errors import DockerError
from stackproof.stack import luggage, place, pump, through
from stackproof.stack.engine_records import ContainerSpec
from stackproof.stack.luggage import Folder
from stackproof.stack.place import Place

_PORT = 8765  # inside, where nobody else is
_WITHIN = 60.0  # seconds
_STEP = 0.05


@contextmanager
def across(where: Place, target: str, *, python: str, guest: Path, name: str = "way") -> Iterator[str]:
    """A way to `target`, host:port in the network of `where`, for as long as the context lasts; yields host:port here.

    The stack's image and its Python run it. Where the engine is reached over TCP or ssh, its own connection is the way.
    Else a port leads there: the container is in that network and in the engine's default one, where one can be
    published. guest: a folder for its program. name: what it is called among the containers of its run. DockerError
    when that does not come about.
    """
    engine, sharing = where.engine, where.sharing
    if sharing.through:
        with _through(where, target, python=python, name=name) as led:
            yield led
        return
    program = guest / Path(pump.__file__).name
    copyfile(pump.__file__, program)
    spec = ContainerSpec(
        name=where.name(name),
        image=where.image,
        entrypoint=(),
        command=(python, str(program.absolute()), f"0.0.0.0:{_PORT}", target),
        labels=where.labels,
        user=place.caller(engine),
        # A network from which nothing gets out publishes nothing either.
        network=None if where.internal else where.network,
        publish=(_PORT,),
        publish_at=sharing.publish_at,
    )
    try:
        container = engine.create(spec)
        with luggage.packed(
            [Folder(path=guest.absolute(), files=(program.absolute(),))], owner=place.ids(engine)
        ) as archive:
            engine.put(container, "/", archive)
        engine.start(container)
        if where.internal:
            # Only now: Podman with CNI plugins leads a port to whichever network it has set up first.
            engine.attach(where.network, container)
        yield f"{sharing.machine}:{_published(where, container, target)}"
    finally:
        engine.remove(spec.name)


@contextmanager
def _through(where: Place, target: str, *, python: str, name: str) -> Iterator[str]:
    spec = ContainerSpec(
        name=where.name(name),
        image=where.image,
        entrypoint=(),
        command=(python, "-I", "-S", "-c", "import signal; signal.pause()"),
        labels=where.labels,
        user=place.caller(where.engine),
        network=where.network,
    )
    try:
        container = where.engine.create(spec)
        where.engine.start(container)
        with through.leading(where.engine, container, python, target) as led:
            yield led
    finally:
        where.engine.remove(spec.name)


def _published(where: Place, container: str, target: str) -> int:
    deadline = time.monotonic() + _WITHIN
    while (state := where.engine.state(container)) is not None and state.code is None:
        if _PORT in state.ports:
            return state.ports[_PORT]
        if time.monotonic() > deadline:
            raise DockerError(
                f"the engine at {where.engine.endpoint} published no port for the way to {target} within {_WITHIN:g} s",
                hint="the engine's own log says more (`journalctl -u docker`)",
            )
        time.sleep(_STEP)
    said = b"".join(where.engine.logs(container, follow=False)).decode("utf-8", "replace").strip()
    raise DockerError(
        f"the container that leads to {target} has ended" + (f": {said.splitlines()[-1]}" if said else ""),
        hint="its image needs a Python of version 3.11 or newer",
    )
