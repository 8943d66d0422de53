"""What the Docker engine is told and what it says, as data of our own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class EngineFacts:
    """What the engine says of itself. name: the machine it runs on. system: `Docker Desktop` for a virtual machine."""

    version: str
    api: tuple[int, int]
    name: str
    system: str
    architecture: str
    rootless: bool
    product: str = "Docker"


@dataclass(frozen=True, kw_only=True, slots=True)
class Mount:
    """A folder of the engine's machine inside a container."""

    source: str
    target: str
    read_only: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ContainerSpec:
    """A container to be made. environment holds nothing secret: `docker inspect` shows it.

    entrypoint: in front of the command; None for the image's own, nothing at all where it is empty.
    network: its only one, `container:ID` for that of another container. publish: ports that get one on the machine,
    chosen by the engine, at its address `publish_at`. hosts: addresses of others by the names that it calls them by.
    tmpfs: folders in memory. capabilities: rights of root in it beside the usual ones (`NET_ADMIN`).
    """

    name: str
    image: str
    command: tuple[str, ...] = ()
    entrypoint: tuple[str, ...] | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None
    working_dir: str | None = None
    network: str | None = None
    aliases: tuple[str, ...] = ()
    hosts: Mapping[str, str] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
    tmpfs: tuple[str, ...] = ()
    publish: tuple[int, ...] = ()
    publish_at: str = "127.0.0.1"
    capabilities: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ContainerState:
    """How a container is. code: of its end, None while it runs or has not started. addresses: by network name. ports:
    container's port → the machine's.
    """

    running: bool
    code: int | None
    out_of_memory: bool
    error: str
    addresses: Mapping[str, str]
    ports: Mapping[int, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageFacts:
    """An image that is there. size in bytes; command and entrypoint as its author set them."""

    id: str
    size: int
    labels: Mapping[str, str]
    entrypoint: tuple[str, ...]
    command: tuple[str, ...]
    user: str
    working_dir: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Owned:
    """Something on the engine that carries labels. kind: container, network, volume or image."""

    kind: str
    id: str
    name: str
    labels: Mapping[str, str]
    running: bool = False
