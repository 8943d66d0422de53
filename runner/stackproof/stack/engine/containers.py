"""Calls of the engine about containers, from the making to the removal."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from stackproof.errors import DockerError
from stackproof.stack.engine.calls import Calls
from stackproof.stack.engine.client import CALL
from stackproof.stack.engine.heard import heard
from stackproof.stack.engine_records import ContainerSpec, ContainerState, Mount, Owned

if TYPE_CHECKING:
    from docker import APIClient

_WHOLE = "1g"  # size of a log that nobody cuts
_BY_OTHERS = "already in progress"  # Docker's words
_STEP = 0.05  # seconds


class Containers(Calls):
    """Containers: made, started, looked at, ended, removed; and what carries a label."""

    def create(self, spec: ContainerSpec) -> str:
        """Make a container, not started; returns its id. DockerError where its image is not on the engine."""
        from docker.types import LogConfig  # noqa: PLC0415

        client = self._client
        host = client.create_host_config(
            mounts=[_mount(item) for item in spec.mounts],
            tmpfs=dict.fromkeys(spec.tmpfs, "mode=1777"),
            port_bindings=dict.fromkeys(spec.publish, (spec.publish_at,)),
            network_mode=spec.network,
            cap_add=list(spec.capabilities) or None,
            extra_hosts=dict(spec.hosts) or None,
            init=True,
            # As long as it lives, and not as little or nowhere as the engine has it with others.
            log_config=LogConfig(type="json-file", config={"max-size": _WHOLE}) if spec.own_log else None,
        )
        networking = None
        # Who is in another's network has no endpoint of its own, and Podman takes none in a network that is none.
        if spec.network is not None and spec.network != "none" and not spec.network.startswith("container:"):
            attached = client.create_endpoint_config(aliases=list(spec.aliases) or None)
            networking = client.create_networking_config({spec.network: attached})  # type: ignore[arg-type]
        entrypoint, command = spec.entrypoint, spec.command
        if entrypoint == ():
            # To Podman that would be the image's own.
            entrypoint, command = command[:1], command[1:]
        with self._told(f"making container {spec.name}"):
            made = client.create_container(
                image=spec.image,
                command=list(command) or None,
                entrypoint=None if entrypoint is None else list(entrypoint),
                name=spec.name,
                labels=dict(spec.labels),
                environment=dict(spec.environment),
                user=spec.user,
                working_dir=spec.working_dir,
                ports=list(spec.publish) or None,
                host_config=host,
                networking_config=networking,
                # They may have a password, and what is said here is told to whoever asks.
                use_config_proxy=spec.config_proxies,
            )
        return str(made["Id"])

    def start(self, container: str) -> None:
        """Start a container that was made."""
        with self._told(f"starting container {container[:12]}"):
            self._client.start(container)

    def state(self, container: str) -> ContainerState | None:
        """How a container is; None where it is gone."""
        with self._told(f"looking at container {container[:12]}"):
            found = self._or_none(lambda: self._client.inspect_container(container))
        if found is None:
            return None
        state, networks = found["State"], found["NetworkSettings"]
        ended = state.get("Status") in ("exited", "dead")
        return ContainerState(
            running=bool(state.get("Running")),
            code=int(state["ExitCode"]) if ended else None,
            out_of_memory=bool(state.get("OOMKilled")),
            error=str(state.get("Error") or ""),
            addresses={
                name: str(item["IPAddress"])
                for name, item in (networks.get("Networks") or {}).items()
                if item.get("IPAddress")
            },
            ports={
                int(port.partition("/")[0]): int(bound[0]["HostPort"])
                for port, bound in (networks.get("Ports") or {}).items()
                if bound
            },
        )

    def inspected(self, container: str) -> Mapping[str, Any]:
        """Everything that the engine tells of a container to whoever asks: nothing secret may be in it."""
        with self._told(f"looking at container {container[:12]}"):
            found: Mapping[str, Any] = self._client.inspect_container(container)
        return found

    def logs(self, container: str, *, follow: bool = True) -> Iterator[bytes]:
        """What a container writes, from its first byte on until it has ended or is removed.

        Without `follow` only what it has written so far.
        """
        with self._told(f"reading the log of container {container[:12]}"):
            stream = self._client.logs(container, stdout=True, stderr=True, stream=True, follow=follow)
            try:
                yield from stream
            finally:
                with contextlib.suppress(OSError, DockerError):
                    stream.close()

    def followed(self, container: str, *, silent: float, check: Callable[[], None]) -> Iterator[bytes]:
        """As `logs`, of one that says something now and then: DockerError where nothing came for `silent` seconds.

        The way to an engine may break without a word, and who only listens would wait for ever. check: called while
        waiting, raises to end it.
        """
        heard_at = time.monotonic()

        def waiting() -> None:
            check()
            if time.monotonic() - heard_at > silent:
                raise DockerError(f"the log of container {container[:12]} said nothing for {silent:.0f} s")

        def ask(client: APIClient) -> Iterator[bytes]:
            found: Iterator[bytes] = client.logs(container, stdout=True, stderr=True, stream=True, follow=True)
            return found

        with self._told(f"following the log of container {container[:12]}"):
            for piece in heard(self._another(CALL), ask, waiting):
                heard_at = time.monotonic()
                yield piece

    def signal(self, container: str, signum: int) -> None:
        """Send the first process of a container a signal."""
        with self._told(f"signalling container {container[:12]}"):
            self._client.kill(container, signal=signum)

    def stop(self, container: str, grace: float) -> None:
        """Ask a container to end, and end it after `grace` seconds; nothing happens where it is gone."""
        with self._told(f"stopping container {container[:12]}"):
            self._or_none(lambda: self._client.stop(container, timeout=round(grace)))

    def remove(self, container: str) -> None:
        """Remove a container and its anonymous volumes, running or not; nothing happens where it is gone."""
        from docker.errors import APIError  # noqa: PLC0415

        with self._told(f"removing container {container[:12]}"):
            try:
                self._or_none(lambda: self._client.remove_container(container, force=True, v=True))
            except APIError as error:
                if _BY_OTHERS not in str(error.explanation):
                    raise
                self._gone(container)

    def _gone(self, container: str) -> None:
        """Wait until somebody else has removed it: its network goes only then."""
        deadline = time.monotonic() + CALL
        while self._or_none(lambda: self._client.inspect_container(container)) is not None:
            if time.monotonic() > deadline:
                raise TimeoutError
            time.sleep(_STEP)

    def owned(self, label: str) -> tuple[Owned, ...]:
        """All containers and networks of this engine alone that carry a label (`name` or `name=value`)."""
        picked = {"label": label}
        with self._told(f"listing what carries {label}"):
            containers = self._client.containers(all=True, filters=picked)
            networks = self._client.networks(filters=picked)
        return (
            *(
                Owned(
                    kind="container",
                    id=str(item["Id"]),
                    name=str(item["Names"][0]).lstrip("/") if item.get("Names") else str(item["Id"])[:12],
                    labels=dict(item.get("Labels") or {}),
                    running=item.get("State") == "running",
                )
                for item in containers
            ),
            *(
                Owned(kind="network", id=str(item["Id"]), name=str(item["Name"]), labels=dict(item.get("Labels") or {}))
                for item in networks
                if item.get("Scope") != "swarm"
            ),
        )


def _mount(wanted: Mount) -> Any:
    from docker.types import Mount as Bound  # noqa: PLC0415

    # Unlike a bind of the old kind it fails where the folder is not there, in place of making an empty one.
    return Bound(target=wanted.target, source=wanted.source, type="bind", read_only=wanted.read_only)
