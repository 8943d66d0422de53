"""The Docker engine: the only module that imports `docker`. Every call has a deadline, every failure is one sentence.

What it gives back is data of our own: nobody else has to know the SDK, and another engine's API could stand behind it.
"""

from __future__ import annotations

import contextlib
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any

from stackproof.errors import DockerError
from stackproof.stack import endpoint as endpoints
from stackproof.stack import labels
from stackproof.stack.conversation import Conversation
from stackproof.stack.endpoint import Endpoint
from stackproof.stack.engine_records import ContainerSpec, ContainerState, EngineFacts, ImageFacts, Mount, Owned
from stackproof.stack.engine_words import START, hint, reason_of, refused

if TYPE_CHECKING:
    from docker import APIClient

MINIMUM_API = (1, 41)
"""Of Docker 20.10 (December 2020): the oldest engine that is tested."""

_CONNECT = 10.0  # seconds for the first answer
_CALL = 60.0  # seconds for any other call that is not a wait by itself
_BUILD = 1800.0
# "Step 2/6 : …" of Docker, "STEP 2/5: …" and with several stages "[1/2] STEP 2/5: …" of Podman
_STEP = re.compile(r"(?:\[\d+/\d+\] )?step ", re.IGNORECASE)


class BuildFailedError(DockerError):
    """A step of an image's build failed: the infrastructure is at fault, not the tests. log: what the step said."""

    def __init__(self, message: str, *, log: Sequence[str], hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.log = tuple(log)


def connect(environ: Mapping[str, str], *, without: str | None = None) -> Engine:
    """The engine that `docker` would use here; DockerError says which endpoint was tried and where it came from.

    without: the command that does the same without Docker, for the hint.
    """
    where = endpoints.choose(environ)
    with _told(f"no Docker engine answered at {where}", where, without):
        _knock(where)
        # The version is asked for first, by a client of its own: the SDK's own negotiation leaves its socket open.
        with contextlib.closing(_client(where, _dotted(MINIMUM_API), _CONNECT)) as asking:
            said = asking.version(api_version=False)
        if "ApiVersion" not in said:
            raise DockerError(f"what answers at {where} is no Docker engine", hint=hint(START, without))
        api = _api(str(said["ApiVersion"]))
        if api < MINIMUM_API:
            raise DockerError(
                f"the Docker engine at {where} is {said.get('Version')} with API {_dotted(api)}; "
                f"{_dotted(MINIMUM_API)} (Docker 20.10) is the oldest that works",
                hint=hint("install a newer engine", without),
            )
        client = _client(where, _dotted(api), _CALL)
        try:
            info = client.info()
        except BaseException:
            client.close()
            raise
    return Engine(client, where, _facts(said, info, api))


class Engine:
    """A connection to one engine. Safe to use from several threads; `close` gives its sockets back."""

    def __init__(self, client: APIClient, where: Endpoint, facts: EngineFacts) -> None:
        self._client, self.endpoint, self.facts = client, where, facts

    def close(self) -> None:
        """Give the sockets back."""
        self._client.close()

    # -- images

    def image(self, reference: str) -> ImageFacts | None:
        """The image of that name or id; None where it is not on the engine."""
        with self._told(f"looking for image {reference}"):
            found = self._or_none(lambda: self._client.inspect_image(reference))  # type: ignore[no-untyped-call]
        if found is None:
            return None
        config = found.get("Config") or {}
        return ImageFacts(
            id=str(found["Id"]),
            size=int(found.get("Size") or 0),
            labels=dict(config.get("Labels") or {}),
            entrypoint=tuple(config.get("Entrypoint") or ()),
            command=tuple(config.get("Cmd") or ()),
            user=str(config.get("User") or ""),
            working_dir=str(config.get("WorkingDir") or ""),
        )

    def build(
        self,
        context: IO[bytes],
        *,
        tag: str,
        dockerfile: str = "Dockerfile",
        arguments: Mapping[str, str],
        labels: Mapping[str, str],
    ) -> Iterator[str]:
        """Build an image from a tar archive, without a network; yields what the build says, line by line.

        BuildFailedError when a step fails; nothing of it is left then but layers that the engine may use again.
        """
        log: list[str] = []
        with self._told(f"building image {tag}"):
            stream = self._client.build(
                fileobj=context,
                custom_context=True,
                dockerfile=dockerfile,
                tag=tag,
                buildargs=dict(arguments),
                labels=dict(labels),
                network_mode="none",
                rm=True,
                forcerm=True,
                decode=True,
                timeout=int(_BUILD),
            )
            for event in stream:
                if "error" in event:
                    raise BuildFailedError(
                        f"image {tag} could not be built: {_step(log)}{str(event['error']).strip()}", log=log
                    )
                for line in str(event.get("stream") or "").splitlines():
                    if line.strip():
                        log.append(line)
                        yield line

    def pull(self, reference: str) -> Iterator[Mapping[str, Any]]:
        """Fetch an image from its registry; yields the engine's events: `status`, `id` of a layer, `progressDetail`.

        DockerError when it cannot be fetched.
        """
        name, _, tag = reference.rpartition(":") if ":" in reference.rpartition("/")[2] else (reference, "", "latest")
        with self._told(f"pulling image {reference}"):
            for event in self._client.pull(name, tag=tag, stream=True, decode=True):
                if "error" in event:
                    raise DockerError(str(event["error"]).strip())
                yield event

    def images_of(self, stack: str) -> tuple[str, ...]:
        """Ids of the images that were built for a stack."""
        with self._told(f"listing the images of stack {stack}"):
            found = self._client.images(filters={"label": f"{labels.STACK}={stack}"})
        return tuple(str(item["Id"]) for item in found)

    def remove_image(self, reference: str) -> None:
        """Remove an image; nothing happens where it is not there."""
        with self._told(f"removing image {reference}"):
            self._or_none(lambda: self._client.remove_image(reference, force=True))

    # -- networks

    def create_network(self, name: str, *, labels: Mapping[str, str], internal: bool) -> str:
        """A bridge network of its own; `internal`: nothing gets out of it. Returns its id."""
        with self._told(f"making network {name}"):
            made = self._client.create_network(
                name, driver="bridge", labels=dict(labels), internal=internal, check_duplicate=True
            )
        return str(made["Id"])

    def gateway(self, network: str) -> str | None:
        """The address that the engine's machine has in a network; None where it has none."""
        with self._told(f"looking at network {network}"):
            found = self._client.inspect_network(network)
        configured = (found.get("IPAM") or {}).get("Config") or []
        return next((str(item["Gateway"]) for item in configured if item.get("Gateway")), None)

    def in_network(self, network: str) -> tuple[str, ...]:
        """Ids of the containers in a network, running or not; none where there is no such network."""
        with self._told(f"listing the containers of network {network}"):
            found = self._client.containers(all=True, filters={"network": network})
        return tuple(str(item["Id"]) for item in found)

    def attach(self, network: str, container: str, *, aliases: Sequence[str] = ()) -> None:
        """Put a container into one more network."""
        with self._told(f"attaching {container} to network {network}"):
            self._client.connect_container_to_network(container, network, aliases=list(aliases) or None)

    def remove_network(self, name: str) -> None:
        """Remove a network; nothing happens where it is not there."""
        with self._told(f"removing network {name}"):
            self._or_none(lambda: self._client.remove_network(name))

    # -- containers

    def create(self, spec: ContainerSpec) -> str:
        """Make a container, not started; returns its id. DockerError where its image is not on the engine."""
        client = self._client
        host = client.create_host_config(
            mounts=[_mount(item) for item in spec.mounts],
            tmpfs=dict.fromkeys(spec.tmpfs, "mode=1777"),
            port_bindings=dict.fromkeys(spec.publish, (spec.publish_at,)),
            network_mode=spec.network,
            cap_add=list(spec.capabilities) or None,
            extra_hosts=dict(spec.hosts) or None,
            init=True,
        )
        networking = None
        # Podman takes no endpoint in a network that is none.
        if spec.network is not None and spec.network != "none":
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

    def put(self, container: str, folder: str, archive: bytes | IO[bytes]) -> None:
        """Unpack a tar archive in a folder of a container, which need not run."""
        with self._told(f"copying into container {container[:12]}"):
            self._client.put_archive(container, folder, archive)

    def get(self, container: str, path: str) -> Iterator[bytes] | None:
        """A file or folder of a container as a tar archive, in pieces; None where it is not there."""
        doing = f"copying out of container {container[:12]}"
        with self._told(doing):
            found = self._or_none(lambda: self._client.get_archive(container, path))

        def pieces() -> Iterator[bytes]:
            with self._told(doing):
                yield from found[0]

        return None if found is None else pieces()

    def run_inside(self, container: str, command: Sequence[str], *, given: bytes = b"", as_root: bool = False) -> int:
        """Run a command in a running container with `given` as its standard input; its exit code.

        as_root: not as the container's own user.

        The way for values that nobody else may see: they are in no argument, label, layer or environment of the engine.
        """
        with self._told(f"running {command[0]} in container {container[:12]}"):
            made = self._client.exec_create(
                container,
                list(command),
                stdin=True,
                stdout=True,
                stderr=True,
                user="0" if as_root else "",
            )
            stream = self._client.exec_start(made["Id"], socket=True)
            try:
                _feed(stream, given)
            finally:
                stream.close()
            return int(self._client.exec_inspect(made["Id"])["ExitCode"] or 0)

    def signal(self, container: str, signum: int) -> None:
        """Send the first process of a container a signal."""
        with self._told(f"signalling container {container[:12]}"):
            self._client.kill(container, signal=signum)

    def converse(self, container: str, command: Sequence[str], *, silent: float) -> Conversation:
        """Run a command in a running container, as its user, to talk with. silent: seconds that it may say nothing."""
        with self._told(f"running {command[0]} in container {container[:12]}"):
            made = self._client.exec_create(container, list(command), stdin=True, stdout=True, stderr=True)
            stream = self._client.exec_start(made["Id"], socket=True)
        raw: Any = getattr(stream, "_sock", stream)
        return Conversation(raw, timeout=silent, whole=stream)

    def stop(self, container: str, grace: float) -> None:
        """Ask a container to end, and end it after `grace` seconds; nothing happens where it is gone."""
        with self._told(f"stopping container {container[:12]}"):
            self._or_none(lambda: self._client.stop(container, timeout=round(grace)))

    def remove(self, container: str) -> None:
        """Remove a container and its anonymous volumes, running or not; nothing happens where it is gone."""
        with self._told(f"removing container {container[:12]}"):
            self._or_none(lambda: self._client.remove_container(container, force=True, v=True))

    # -- what belongs to whom

    def owned(self, label: str) -> tuple[Owned, ...]:
        """All containers and networks that carry a label (`name` or `name=value`)."""
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
            ),
        )

    # -- failures in words

    def _told(self, doing: str) -> contextlib.AbstractContextManager[None]:
        return _told(f"the Docker engine at {self.endpoint} failed while {doing}", self.endpoint, None)

    @staticmethod
    def _or_none(ask: Any) -> Any:
        from docker.errors import NotFound  # noqa: PLC0415

        try:
            return ask()
        except NotFound:
            return None


def _mount(wanted: Mount) -> Any:
    from docker.types import Mount as Bound  # noqa: PLC0415

    # Unlike a bind of the old kind it fails where the folder is not there, in place of making an empty one.
    return Bound(target=wanted.target, source=wanted.source, type="bind", read_only=wanted.read_only)


def _knock(where: Endpoint) -> None:
    """Whether a Unix socket can be used at all; the SDK would leave its own open where it cannot."""
    if where.socket is not None:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(_CONNECT)
            probe.connect(str(where.socket))


def _client(where: Endpoint, version: str, timeout: float) -> APIClient:
    import docker  # noqa: PLC0415 - slow to import, and needed for containers alone

    tls: Any = False
    if where.tls is not None:
        tls = docker.tls.TLSConfig(
            client_cert=(str(where.tls / "cert.pem"), str(where.tls / "key.pem")),
            ca_cert=str(where.tls / "ca.pem") if where.verify else None,
            verify=where.verify,
        )
    client = docker.APIClient(base_url=where.url, version=version, timeout=int(timeout), tls=tls)
    if where.tls is not None:
        _keep_authority(client)
    return client


def _keep_authority(client: APIClient) -> None:
    """REQUESTS_CA_BUNDLE and the like are for the world outside; requests would put them in the engine's own place."""
    merge = client.merge_environment_settings

    def merged(url: Any, proxies: Any, stream: Any, verify: Any, cert: Any) -> Any:
        return merge(url, proxies, stream, client.verify if verify is None else verify, cert)

    client.merge_environment_settings = merged  # type: ignore[method-assign]


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
    )


def _api(text: str) -> tuple[int, int]:
    major, _, minor = text.partition(".")
    return (int(major), int(minor)) if major.isdigit() and minor.isdigit() else (0, 0)


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


def _step(log: Sequence[str]) -> str:
    step = next((line for line in reversed(log) if _STEP.match(line)), None)
    return "" if step is None else f"{step.strip()}: "


def _feed(stream: Any, given: bytes) -> None:
    """Write to a command's standard input, close it, and wait until the command has closed its output."""
    raw = getattr(stream, "_sock", stream)
    with contextlib.closing(raw):
        raw.settimeout(_CALL)
        raw.sendall(given)
        raw.shutdown(socket.SHUT_WR)
        while raw.recv(65536):
            pass


@contextlib.contextmanager
def _told(what: str, where: Endpoint, without: str | None) -> Iterator[None]:
    """Turn whatever the SDK raises into one DockerError: what was done, what went wrong, what next."""
    from docker.errors import APIError, DockerException  # noqa: PLC0415
    from requests.exceptions import RequestException, Timeout  # noqa: PLC0415

    try:
        yield
    except APIError as error:
        reason = refused(str(error.explanation or error).strip())
        raise DockerError(f"{what}: {reason.text}", hint=hint(reason.remedy, without)) from error
    except (RequestException, DockerException, OSError) as error:
        reason = reason_of(error, where, hangs=isinstance(error, Timeout))
        raise DockerError(f"{what}: {reason.text}", hint=hint(reason.remedy, without)) from error
