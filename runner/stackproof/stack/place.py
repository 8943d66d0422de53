"""Where the containers of a cell live: a network of their own on the engine, gone afterwards with all that is in it."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from stackproof.catalog.records import StackSpec
from stackproof.errors import DockerError
from stackproof.evidence import jsonfile
from stackproof.stack import engine as engines
from stackproof.stack import image, interpreter, labels, ports, sharing, sweep
from stackproof.stack.engine import Engine
from stackproof.stack.forwarder import forwarding
from stackproof.stack.handover import Handover, Left
from stackproof.stack.sharing import Sharing

_BASE = "STACKPROOF_DOCKER_BASE"
_LOOPBACK = ("localhost", "127.0.0.1", "::1", "0.0.0.0")  # noqa: S104 - compared, not bound


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """An engine, the image of a stack, and the network for its containers.

    internal: nothing gets out of it. gateway: this machine's address in it, where containers can call it. hosts: the
    addresses of what runs beside the stack, by name. python: that of the image.
    """

    engine: Engine
    image: str
    network: str
    internal: bool
    gateway: str | None
    labels: Mapping[str, str]
    token: str
    undo: ExitStack
    sharing: Sharing
    hosts: Mapping[str, str] = field(default_factory=dict)
    python: str = "python3"

    def name(self, what: str) -> str:
        """A name for a container that no other run can have."""
        return _named(self.labels[labels.RUN], what, self.token)

    def outward(self, url: str) -> str:
        """A URL of this machine as the containers can call it; one of another machine stays as it is."""
        parts = urlsplit(url)
        if parts.hostname not in _LOOPBACK:
            return url
        if self.gateway is None:
            raise DockerError(
                f"{url} is on this machine, and network {self.network} has no way to it",
                hint="give the provider's address as the containers can reach it, or start the stack as server:NAME",
            )
        port = self._port_at(self.gateway, url)
        target = f"{ports.LOOPBACK}:{parts.port or (443 if parts.scheme == 'https' else 80)}"
        self.undo.enter_context(forwarding(f"{self.gateway}:{port}", target))
        user, at, _ = parts.netloc.rpartition("@")
        return urlunsplit(parts._replace(netloc=f"{user}{at}{self.gateway}:{port}"))

    def _port_at(self, gateway: str, url: str) -> int:
        # Another machine's gateway may have the address of one of ours; a tunnel to it ends at our loopback.
        if not (self.sharing.elsewhere or (self.sharing.through and self.sharing.proof)):
            facts = self.engine.facts
            with contextlib.suppress(OSError):
                # A bridge of Podman has its address here only from its first container on.
                return ports.free_port(gateway, early=facts.product == "Podman" and not facts.rootless)
        raise DockerError(
            f"{url} is on this machine, and the containers of the engine at {self.engine.endpoint} cannot call it",
            hint="give the provider's address as that engine's machine reaches it, record with the engine of this "
            "machine, or start the stack as server:NAME",
        )


@contextmanager
def opened(
    stack: StackSpec,
    *,
    run_id: str,
    owner: int,
    internal: bool,
    with_tests: bool = False,
    environment: Mapping[str, str],
    without: str,
    chosen: Path | None = None,
    handover: Handover | None = None,
    say: Callable[[str], None],
    check: Callable[[], None],
) -> Iterator[Place]:
    """The image of `stack`, and a network for its containers, for as long as the context lasts.

    owner: the process that the run belongs to. internal: nothing gets out of the network. with_tests: what tests need
    is in the image too. without: the command that does the same without Docker. chosen: folder where a run notes which
    image its first cell found or built, so that all its cells have the same. handover: what a cell before this one has
    left, with its network; both stay for the next one where it says so. DockerError when the engine or an image is
    missing.
    """
    with ExitStack() as undo:
        engine = undo.enter_context(contextlib.closing(engines.connect(environment, without=without)))
        shared = sharing.decide(engine.endpoint, engine.facts, environment, host=socket.gethostname())
        marks = labels.of(run_id, stack.name, labels.owner(owner))
        if handover is not None:
            undo.callback(handover.end, engine)
        left = None if handover is None else handover.take(engine)
        if left is None:
            for line in sweep.abandoned(engine, now=time.time()):
                say(line)
            tag = _image(engine, stack, chosen, with_tests=with_tests, environment=environment, say=say, check=check)
            token = secrets.token_hex(4)
            network = f"stackproof-{run_id}-{token}"
            left = Left(container=_named(run_id, stack.name, token), network=network, token=token, image=tag)
            # Before it is made: an answer of the engine that gets lost must not leave it behind.
            if handover is None:
                undo.callback(_remove, engine, network)
            else:
                handover.note(left)
            engine.create_network(network, labels=marks, internal=internal)
        inner = undo.enter_context(ExitStack())
        yield Place(
            engine=engine,
            image=left.image,
            network=left.network,
            internal=internal,
            gateway=None if internal else engine.gateway(left.network),
            labels=marks,
            token=left.token,
            undo=inner,
            sharing=shared,
            python="python3" if stack.docker is None else stack.docker.python,
        )


def _image(
    engine: Engine,
    stack: StackSpec,
    chosen: Path | None,
    *,
    with_tests: bool,
    environment: Mapping[str, str],
    say: Callable[[str], None],
    check: Callable[[], None],
) -> str:
    """The tag of the image: what an earlier cell of the run has found or built, else found or built now."""
    note = None if chosen is None else chosen / f"{stack.name}{'-tests' if with_tests else ''}.json"
    if note is not None and (noted := jsonfile.read(note)) is not None:
        return str(noted["image"])
    base = base_of(stack, environment)
    tag, facts = image.prepare(
        engine, stack, base=base, with_tests=with_tests, environment=environment, say=say, check=check
    )
    if note is not None:
        jsonfile.write(note, {"image": tag, "id": facts.id})
    return tag


def base_of(stack: StackSpec, environment: Mapping[str, str]) -> str | None:
    """The image that somebody wants a stack's own to start from, in place of the one in stack.yaml."""
    # Not every stack can start from what the others start from.
    return environment.get(interpreter.variable(_BASE, stack.name)) or environment.get(_BASE)


def _named(run_id: str, what: str, token: str) -> str:
    return f"stackproof-{run_id}-{what}-{token}"


def ids(engine: Engine) -> tuple[int, int]:
    """User and group id that containers run as: what they write into the run's folder must be the caller's.

    To a rootless engine the caller is root, and any other user is somebody who may write nothing of the caller's.
    """
    return (0, 0) if engine.facts.rootless else (os.getuid(), os.getgid())


def caller(engine: Engine) -> str:
    """The same, as an engine is told it."""
    user, group = ids(engine)
    return f"{user}:{group}"


def shared(path: Path) -> str:
    """A folder that containers see under the path that it has here; made where it is missing."""
    path.mkdir(parents=True, exist_ok=True)
    return str(path.absolute())


def _remove(engine: Engine, network: str) -> None:
    for item in engine.in_network(network):
        engine.remove(item)
    engine.remove_network(network)
