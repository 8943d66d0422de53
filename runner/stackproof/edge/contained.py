"""The edge in a container, beside a stack in one: the stack's only way to a provider, and no way at all in replay."""

from __future__ import annotations

import os
import shutil
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from stackproof import proxies
from stackproof.catalog.records import BesideSpec, DockerSpec
from stackproof.edge import luggage, process, stack_edge
from stackproof.edge.addresses import HEALTH
from stackproof.edge.places import Places
from stackproof.environment import EVERY_ADDRESS, Environment
from stackproof.errors import DockerError
from stackproof.plan import Cell
from stackproof.recorder.mode import Mode
from stackproof.recorder.serve.exec_ import guest_folder
from stackproof.recorder.settings import VARIABLE
from stackproof.stack import answering, enter, image, interpreter, place, seen
from stackproof.stack.container import Container
from stackproof.stack.engine_records import ContainerSpec, Mount
from stackproof.stack.place import Place
from stackproof.stack.process import last_lines, shown
from stackproof.stack.stack_container import ENTER, no_names
from stackproof.stack.stack_died import StackDiedError

_PYTHON = "/venv/bin/python"
_FIRST_PORT = 4000
_READY = 60.0
_BASE = "STACKPROOF_DOCKER_BASE"
_ASK = "import sys, urllib.request as u; u.build_opener(u.ProxyHandler({})).open(sys.argv[1], timeout=5)"
SPEC = BesideSpec(
    name=process.NAME,
    description="the provider edge",
    folder=process.REQUIREMENTS.parent,
    docker=DockerSpec(
        dockerfile=process.REQUIREMENTS.with_name("Dockerfile"),
        requirements=process.REQUIREMENTS,
        context=(process.REQUIREMENTS,),
        python=_PYTHON,
        port=_FIRST_PORT,
    ),
    source=process.REQUIREMENTS.with_name("Dockerfile"),
)


def places(own: tuple[str, ...]) -> Places:
    """Where it listens in its container, which has all ports to itself. own: providers with an address of their own."""
    ports = {name: _FIRST_PORT + 1 + number for number, name in enumerate(own)}
    return Places(host=process.NAME, main=_FIRST_PORT, own=ports)


def require_folders(cell: Cell, where: Place) -> None:
    """DockerError for an engine whose containers do not see the folder of the run: ids are announced in it."""
    if where.sharing.folders is False:
        raise DockerError(
            f"the Docker engine at {where.engine.endpoint} shares nothing with this machine ({where.sharing.why}), and "
            f"the edge of {cell.stack_config} needs the folders of the run",
            hint="use the engine of this machine",
        )


def image_of(
    where: Place, *, environment: Mapping[str, str], say: Callable[[str], None], check: Callable[[], None]
) -> str:
    """The tag of its image, built first where it is missing. Raises what `image.prepare` does."""
    base = environment.get(interpreter.variable(_BASE, process.NAME)) or environment.get(_BASE)
    return image.prepare(where.engine, SPEC, base=base, environment=environment, say=say, check=check)[0]


@contextmanager
def with_way_out(where: Place) -> Iterator[Place]:
    """A network of the edge's own, from which something gets out, for as long as the context lasts."""
    network = f"{where.network}-out"
    try:
        where.engine.create_network(network, labels=where.labels, internal=False)
        yield replace(where, network=network, internal=False, gateway=where.engine.gateway(network))
    finally:
        for item in where.engine.in_network(network):
            where.engine.remove(item)
        where.engine.remove_network(network)


@contextmanager
def running(
    cell: Cell,
    listens: Places,
    where: Place,
    outside: Place,
    built: Environment,
    *,
    tag: str,
    cell_dir: Path,
    recordings: Path,
    say: Callable[[str], None],
    check: Callable[[], None],
) -> Iterator[str]:
    """The edge, ready, in the network of the stack; gives its address there.

    outside: a network with a way out; the stack's own where there must be none. StackDiedError at the end when it has
    ended by itself.
    """
    guest = Path(guest_folder(str(cell_dir / "guest")))
    shutil.copyfile(ENTER, script := guest / ENTER.name)
    folder = luggage.put(cell_dir / process.NAME).absolute()
    log = cell_dir / process.LOG
    container = Container(
        where.engine,
        ContainerSpec(
            name=where.name(process.NAME),
            image=tag,
            entrypoint=(),
            command=(
                _PYTHON, str(script), "run", "--", _PYTHON, "-P", "-m", "stackproof.edge.serve",
                "--host", EVERY_ADDRESS, *listens.arguments(),
            ),
            labels=where.labels,
            user=place.caller(where.engine),
            network=outside.network,
            aliases=(process.NAME,) if outside.network == where.network else (),
            hosts=where.hosts,
            mounts=(
                Mount(source=place.shared(cell_dir), target=str(cell_dir.absolute())),
                Mount(source=place.shared(recordings), target=str(recordings.absolute()), read_only=True),
                *no_names(guest, outside),
            ),
            tmpfs=(enter.FOLDER,),
            capabilities=("NET_ADMIN",) if outside.internal else (),
        ),
        name=process.NAME,
        log=log,
        before=seen.required(where, guest),
    )  # fmt: skip
    given = {**_given(cell, built, folder), "PYTHONPATH": str(folder)}
    try:
        container.start(
            given,
            _PYTHON,
            shut="shut" if outside.internal else None,
            folders=(cell_dir.absolute(), recordings.absolute()),
        )
        if outside.network != where.network:
            where.engine.attach(where.network, container.id, aliases=(process.NAME,))
        asked = (_PYTHON, "-I", "-c", _ASK, f"http://127.0.0.1:{listens.main}{HEALTH}")
        answering.wait(container, asked, where.engine, _READY, check)
        address = container.address(where.network)
        if address is None:
            raise DockerError(
                f"the edge has no address in network {where.network}", hint=last_lines(log, container.tail())
            )
        say(f"● edge ready in {container.elapsed():.1f} s, in a container   log {shown(log)}")
        yield address
        if (code := container.poll()) is not None:
            raise StackDiedError(
                f"the edge {container.ending()} by itself", code=code, hint=last_lines(log, container.tail())
            )
    finally:
        container.stop()
        stack_edge.tell(log, say)


def _given(cell: Cell, built: Environment, folder: Path) -> dict[str, str]:
    """Its variables: the run's settings, the secrets to be kept out of files, and how this machine reaches others."""
    wanted = {VARIABLE, *cell.setup.all_secrets}
    given = {name: value for name, value in built.tests.items() if name in wanted or proxies.is_one(name)}
    authorities = built.tests.get("SSL_CERT_FILE") or ssl.get_default_verify_paths().cafile
    if cell.inference_mode is not Mode.REPLAY and authorities and os.access(authorities, os.R_OK):
        # Its image need not have any, and this machine may trust one of its own.
        copied = folder / "authorities.pem"
        shutil.copyfile(authorities, copied)
        given["SSL_CERT_FILE"] = str(copied)
    return given
