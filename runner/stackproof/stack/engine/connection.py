"""The way to the engine: which one, whether it can be used, and what it says of itself."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping
from typing import Any

from stackproof.errors import DockerError, NoEngineError
from stackproof.stack import endpoint as endpoints
from stackproof.stack.endpoint import Endpoint
from stackproof.stack.engine.calls import told
from stackproof.stack.engine.carrying import Carrying
from stackproof.stack.engine.client import CALL, client_of, dotted
from stackproof.stack.engine.containers import Containers
from stackproof.stack.engine.images import Images
from stackproof.stack.engine.inside import Inside
from stackproof.stack.engine.networks import Networks
from stackproof.stack.engine.services import Services
from stackproof.stack.engine.swarm import Swarm
from stackproof.stack.engine_records import EngineFacts
from stackproof.stack.engine_words import START, hint

MINIMUM_API = (1, 41)
"""Of Docker 20.10 (December 2020): the oldest engine that is tested."""

_CONNECT = 30.0  # seconds for the first answer


class Engine(Images, Carrying, Networks, Containers, Inside, Swarm, Services):
    """A connection to one engine. Safe to use from several threads; `close` gives its sockets back."""


def connect(environ: Mapping[str, str], *, without: str | None = None, patience: float = _CONNECT) -> Engine:
    """The engine that `docker` would use here; NoEngineError says which endpoint was tried and where it came from.

    without: the command that does the same without Docker, for the hint. patience: seconds for its first answer.
    """
    try:
        return _connected(environ, without, patience)
    except DockerError as error:
        raise NoEngineError(error.message, hint=error.hint) from error


def _connected(environ: Mapping[str, str], without: str | None, patience: float) -> Engine:
    where = endpoints.choose(environ)
    with told(f"no Docker engine answered at {where}", where, without):
        _knock(where, patience)
        # The version is asked for first, by a client of its own: the SDK's own negotiation leaves its socket open.
        with contextlib.closing(client_of(where, dotted(MINIMUM_API), patience)) as asking:
            said = asking.version(api_version=False)
        if "ApiVersion" not in said:
            raise DockerError(f"what answers at {where} is no Docker engine", hint=hint(START, without))
        api = _api(str(said["ApiVersion"]))
        if api < MINIMUM_API:
            raise DockerError(
                f"the Docker engine at {where} is {said.get('Version')} with API {dotted(api)}; "
                f"{dotted(MINIMUM_API)} (Docker 20.10) is the oldest that works",
                hint=hint("install a newer engine", without),
            )
        client = client_of(where, dotted(api), CALL)
        try:
            info = client.info()
        except BaseException:
            client.close()
            raise
    return Engine(client, where, _facts(said, info, api))


def _knock(where: Endpoint, patience: float) -> None:
    """Whether a Unix socket can be used at all; the SDK would leave its own open where it cannot."""
    if where.socket is not None:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(patience)
            probe.connect(str(where.socket))


def _facts(said: Mapping[str, Any], info: Mapping[str, Any], api: tuple[int, int]) -> EngineFacts:
    options = " ".join(map(str, info.get("SecurityOptions") or ()))
    components = " ".join(str(item.get("Name")) for item in said.get("Components") or ())
    return EngineFacts(
        version=str(said.get("Version") or "unknown"),
        api=api,
        name=str(info.get("Name") or ""),
        system=str(info.get("OperatingSystem") or ""),
        architecture=str(info.get("Architecture") or ""),
        # Podman says it in a place of its own.
        rootless="rootless" in options or bool(info.get("Rootless")),
        product="Podman" if "Podman" in components else "Docker",
        root=str(info.get("DockerRootDir") or ""),
    )


def _api(text: str) -> tuple[int, int]:
    major, _, minor = text.partition(".")
    return (int(major), int(minor)) if major.isdigit() and minor.isdigit() else (0, 0)
