"""What the Docker engine is told and what it says, as data of our own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class EngineFacts:
    """What the engine says of itself. name: the machine it runs on. system: `Docker Desktop` for a virtual machine.

    root: the folder on that machine where it keeps images and containers; empty where it does not say.
    """

    version: str
    api: tuple[int, int]
    name: str
    system: str
    architecture: str
    rootless: bool
    product: str = "Docker"
    root: str = ""


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
    tmpfs: folders in memory. capabilities: rights of root in it beside the usual ones (`NET_ADMIN`). own_log: what it
    writes is kept whole, whatever the engine is told to do with what others write. config_proxies: it is told of the
    proxies in the file of Docker's command line, as `docker run` does.
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
    own_log: bool = False
    config_proxies: bool = False


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
    """Something on the engine that carries labels. kind: container, network, volume or image; service or secret."""

    kind: str
    id: str
    name: str
    labels: Mapping[str, str]
    running: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class SwarmFacts:
    """The swarm that an engine is part of. id: empty where the engine is no manager. node: its own id there.

    address: by which its other nodes know it. problem: what the engine says is wrong with it.
    """

    id: str
    node: str
    is_manager: bool
    nodes: int
    address: str = ""
    problem: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeFacts:
    """A machine of a swarm. status: ready, down, unknown or disconnected. availability: active, pause or drain.

    cpus: whole ones. memory in bytes. message: why it is not ready.
    """

    id: str
    hostname: str
    status: str
    availability: str
    is_manager: bool
    address: str
    cpus: float
    memory: int
    message: str = ""

    @property
    def takes_tasks(self) -> bool:
        """Whether the swarm would give it something to do."""
        return self.status == "ready" and self.availability == "active"


@dataclass(frozen=True, kw_only=True, slots=True)
class SecretUse:
    """A secret as a file of a task: /run/secrets/<target>, which its user alone may read."""

    id: str
    name: str
    target: str
    user: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class JobSpec:
    """A job of a swarm: `replicas` tasks that each end once. environment and labels hold nothing secret.

    image: an id (`sha256:…`) is taken from the node, `NAME@sha256:…` fetched from its registry. labels: of the service
    and of every container. environment: `{{.Task.Slot}}`, `{{.Node.ID}}`, `{{.Node.Hostname}}` in it are filled in;
    that slot counts from 1. entrypoint: as in ContainerSpec. networks: by name or id. constraints: of placement
    (`node.id!=…`). attempts: how often a task that fails is tried again, never where it is 0; a node that is lost is
    none. cpus, memory (bytes): the most that a task may take. reserved_cpus, reserved_memory: what its node must have
    free; a task waits for that. per_node: tasks at once on one node. stop_grace: seconds to end in when told to.
    """

    name: str
    image: str
    replicas: int
    command: tuple[str, ...] = ()
    entrypoint: tuple[str, ...] | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None
    working_dir: str | None = None
    networks: tuple[str, ...] = ()
    secrets: tuple[SecretUse, ...] = ()
    tmpfs: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    per_node: int | None = None
    attempts: int = 0
    cpus: float | None = None
    memory: int | None = None
    reserved_cpus: float | None = None
    reserved_memory: int | None = None
    stop_grace: float = 5.0


ENDED = frozenset({"complete", "failed", "rejected", "shutdown", "remove", "orphaned"})
"""States of a task from which it does not come back. https://docs.docker.com/engine/swarm/how-swarm-mode-works/swarm-task-states/"""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskFacts:
    """A task of a job. slot: from 0. node: id, empty where none was found yet. state, desired: the swarm's words.

    error: why it has not begun or did not go on. container: on that node, empty before it is made. code: of its end.
    created, changed: seconds since the epoch by the manager's clock and by that of the node. On a node that is gone a
    task keeps its last state, and is desired to be shut down.
    """

    id: str
    service: str
    slot: int
    node: str
    state: str
    desired: str
    message: str
    error: str
    container: str
    code: int | None
    created: float
    changed: float

    @property
    def ended(self) -> bool:
        """Whether nothing more comes of it."""
        return self.state in ENDED

    @property
    def lacks_image(self) -> bool:
        """Whether its node turned it away because it has not got the image, nor where to get it from."""
        return self.state == "rejected" and "no such image" in self.error.lower()
