"""A provider service in a container: its image pulled or built, started, reached at a port, gone afterwards."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from stackproof.catalog.records import ServiceImage, ServiceSpec
from stackproof.errors import DockerError, StackStartError
from stackproof.stack import engine as engines
from stackproof.stack import image as images
from stackproof.stack import labels, model_pull, place, sharing, sweep
from stackproof.stack.container import Container
from stackproof.stack.engine import Engine
from stackproof.stack.engine_records import ContainerSpec, Mount
from stackproof.stack.process import last_lines
from stackproof.stack.pulling import Progress
from stackproof.stack.readiness import wait_ready
from stackproof.stack.seen import NotSeenError

_PUBLISHED = 60.0  # seconds
_STEP = 0.05


@dataclass(frozen=True, kw_only=True, slots=True)
class Contained:
    """A service that answers. origin: its URL without a path. took: seconds to the first answer."""

    origin: str
    took: float


@contextmanager
def running(
    service: ServiceSpec,
    image: ServiceImage,
    *,
    environment: Mapping[str, str],
    cache: Path,
    log: Path,
    run_id: str,
    timeout: float,
    say: Callable[[str], None],
    check: Callable[[], None],
) -> Iterator[Contained]:
    """`service` in a container, ready and with its models, for as long as the context lasts.

    cache: the folder of this machine that it keeps its models in, where the engine sees it. DockerError without an
    engine or its image, StackStartError when it does not become ready or has not a model.
    """
    with ExitStack() as undo:
        engine = undo.enter_context(contextlib.closing(engines.connect(environment)))
        for line in sweep.abandoned(engine, now=time.time()):
            say(line)
        shared = sharing.decide(engine.endpoint, engine.facts, environment, host=os.uname().nodename)
        if why := sharing.unknown(shared):
            raise DockerError(
                f"service {service.name!r} in a container of the engine at {engine.endpoint} cannot be called: {why}",
                hint="name the engine's machine as this one and its own containers know it, or record here",
            )
        name = _image(engine, service, image, environment=environment, say=say, check=check)
        marks = labels.of(run_id, service.name, labels.owner(os.getpid())) | {labels.SERVICE: service.name}

        def start(*mounts: Mount) -> Container:
            container = Container(
                engine,
                ContainerSpec(
                    name=f"stackproof-{run_id}-{service.name}-{os.getpid()}",
                    image=name,
                    labels=marks,
                    environment=image.env,
                    user=place.caller(engine) if mounts else None,
                    publish=(image.port,),
                    publish_at=shared.publish_at,
                    mounts=mounts,
                    config_proxies=True,  # it fetches its models
                ),
                name=service.name,
                log=log,
            )
            undo.callback(container.stop)
            container.launch()
            return container

        container = None
        if image.cache is not None and shared.folders is not False:
            with contextlib.suppress(NotSeenError):
                container = start(Mount(source=place.shared(cache), target=image.cache))
        if container is None:
            container = start()
        origin = f"http://{shared.machine}:{_port(engine, container, image, check)}"
        took = wait_ready(
            process=container,
            url=origin + service.readiness.path,
            readiness=service.readiness,
            timeout=timeout,
            run_id=run_id,
            marks=None,
            check=check,
        )
        for model in image.pull:
            model_pull.pull(origin, model, service=service.name, say=say, check=check)
        yield Contained(origin=origin, took=took)
        if container.poll() is not None:
            raise StackStartError(
                f"{service.name} {container.ending()} while the tests ran", hint=last_lines(log, container.tail())
            )


def _image(
    engine: Engine,
    service: ServiceSpec,
    image: ServiceImage,
    *,
    environment: Mapping[str, str],
    say: Callable[[str], None],
    check: Callable[[], None],
) -> str:
    """The name of its image, pulled or built first where the engine has it not."""
    if image.image is not None:
        _pull(engine, service, image.image, say, check)
    base = environment.get("STACKPROOF_DOCKER_BASE")
    return images.prepare(engine, service, base=base, environment=environment, say=say, check=check)[0]


def _pull(
    engine: Engine, service: ServiceSpec, image: str, say: Callable[[str], None], check: Callable[[], None]
) -> None:
    if engine.image(image) is not None:
        return
    say(f"pulling {image}, once for this engine")
    progress = Progress(image, clock=time.monotonic)
    try:
        for event in engine.pull(image, check=check):
            if line := progress.line(event):
                say(line)
    except DockerError as error:
        raise DockerError(
            f"the image of service {service.name!r} is missing: {error.message}",
            hint=f"`docker pull {image}` says more; where no registry can be reached, `docker save` on a machine "
            "that has it and `docker load` here bring it\nwithout it: --provider-service llama-cpp, or a server of "
            "your own that the setup's variables name",
        ) from error


def _port(engine: Engine, container: Container, image: ServiceImage, check: Callable[[], None]) -> int:
    deadline = time.monotonic() + _PUBLISHED
    while (state := engine.state(container.id)) is not None and state.code is None:
        if image.port in state.ports:
            return state.ports[image.port]
        if time.monotonic() > deadline:
            break
        check()
        time.sleep(_STEP)
    raise StackStartError(
        f"{container.name} {container.ending() if container.poll() is not None else 'got no port from the engine'} "
        "before it was ready",
        hint=last_lines(container.log, container.tail()),
    )
