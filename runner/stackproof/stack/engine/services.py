"""Calls of a swarm's manager about jobs: made, looked at task by task, heard, removed.

A job is a service of replicas that are never started again. The swarm's own replicated jobs are not used: up to Docker
20.10 they start a task that fails anew without end, whatever their restart policy says; and when such a service is
removed its tasks stay, those that run go on running, and the containers of those that ended lie on every node for ever.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from stackproof.errors import DockerError
from stackproof.stack.engine.calls import Calls
from stackproof.stack.engine.client import CALL
from stackproof.stack.engine.heard import heard
from stackproof.stack.engine_records import JobSpec, SecretUse, TaskFacts

_SERVICE = "com.docker.swarm.service.id"  # a label of Docker's own
_STEP = 0.1  # seconds between two looks
_ENDS = 60.0  # seconds that the tasks of a removed service have to be gone in
_SILENT = 20.0  # seconds that nodes may not answer with what is there already
_NO_LOG = b"Error grabbing logs: "
_NANO = 1_000_000_000


class Services(Calls):
    """Services of a swarm that are jobs: a number of tasks, each of which ends once."""

    def create_job(self, spec: JobSpec) -> str:
        """Make a job, whose tasks begin at once wherever there is room; returns the id of its service."""
        from docker import types  # noqa: PLC0415

        entrypoint, command = spec.entrypoint, list(spec.command)
        if entrypoint == ():
            # To a task that would be the image's own.
            entrypoint, command = tuple(command[:1]), command[1:]
        container = types.ContainerSpec(
            spec.image,
            command=None if entrypoint is None else list(entrypoint),
            args=command or None,
            env=dict(spec.environment),
            labels=dict(spec.labels),
            user=spec.user,
            workdir=spec.working_dir,
            mounts=[types.Mount(target=target, source=None, type="tmpfs") for target in spec.tmpfs],
            secrets=[_secret(item) for item in spec.secrets],
            cap_add=list(spec.capabilities) or None,
            stop_grace_period=round(spec.stop_grace * _NANO),
            init=True,
        )
        task = types.TaskTemplate(
            container,
            resources=_resources(spec),
            restart_policy=types.RestartPolicy(
                condition="on-failure" if spec.attempts else "none", max_attempts=spec.attempts
            ),
            placement=types.Placement(constraints=list(spec.constraints), maxreplicas=spec.per_node),
            networks=list(spec.networks),
        )
        mode = types.ServiceMode("replicated", replicas=spec.replicas)
        with self._told(f"making job {spec.name}"):
            made = self._client.create_service(  # type: ignore[no-untyped-call]
                task, name=spec.name, labels=dict(spec.labels), mode=mode
            )
        return str(made["ID"])

    def tasks(self, *services: str) -> tuple[TaskFacts, ...]:
        """The tasks of services, by slots and in the order of their making; none where one has none, or is gone."""
        return tuple(task for task in self._tasks() if task.service in services) if services else ()

    def service_logs(
        self, service: str, *, follow: bool = False, check: Callable[[], None] = lambda: None
    ) -> Iterator[bytes]:
        """What the tasks of a service have written, in pieces. follow: until all have ended, or it is removed.

        check: called while waiting, raises to end it. Without `follow` DockerError where a node does not answer.
        """
        yield from self._log(f"the log of service {service}", f"/services/{service}/logs", check, follow=follow)

    def task_logs(
        self, task: str, *, follow: bool = False, check: Callable[[], None] = lambda: None
    ) -> Iterator[bytes]:
        """What one task has written, in pieces; as `service_logs`."""
        yield from self._log(f"the log of task {task}", f"/tasks/{task}/logs", check, follow=follow)

    def remove_service(self, service: str, *, check: Callable[[], None] = lambda: None) -> tuple[TaskFacts, ...]:
        """End and remove a service, by id or name, and wait until its tasks are gone; nothing where it is not there.

        Tasks that stay are returned: their nodes cannot be reached, and remove them once they can be.
        check: called while waiting, raises to end it; what is not gone by then goes by itself.
        """
        found = self.end_service(service)
        return self.until_gone((found,), check=check) if found else ()

    def end_service(self, service: str) -> str:
        """End and remove a service, by id or name, and wait for nothing; its id, empty where it is not there."""
        with self._told(f"removing service {service}"):
            found = self._or_none(lambda: self._client.inspect_service(service))  # type: ignore[no-untyped-call]
            if found is None:
                return ""
            self._or_none(lambda: self._client.remove_service(str(found["ID"])))  # type: ignore[no-untyped-call]
        return str(found["ID"])

    def until_gone(
        self, services: Collection[str], *, check: Callable[[], None] = lambda: None
    ) -> tuple[TaskFacts, ...]:
        """Wait until the tasks of services that were removed are gone; as `remove_service`. services: ids."""
        deadline = time.monotonic() + _ENDS
        while (left := self.tasks(*services)) and time.monotonic() < deadline and not self._away(left):
            check()
            time.sleep(_STEP)
        # Engines remove the containers of tasks that their manager no longer knows; of those, this one can be asked.
        while self._have_containers(services) and time.monotonic() < deadline:
            check()
            time.sleep(_STEP)
        return left

    def _have_containers(self, services: Collection[str]) -> bool:
        with self._told("listing the containers of services"):
            found = self._client.containers(all=True, filters={"label": _SERVICE})
        return any(item["Labels"].get(_SERVICE) in services for item in found)

    def _away(self, tasks: Sequence[TaskFacts]) -> bool:
        """Whether all of them are on nodes that cannot be reached."""
        with self._told("listing the nodes of its swarm"):
            found = {str(item["ID"]): str(item["Status"]["State"]) for item in self._client.nodes()}
        return all(task.node and found.get(task.node) != "ready" for task in tasks)

    def _tasks(self) -> tuple[TaskFacts, ...]:
        # Not by a filter: the engine refuses the name of a service that is gone, whose tasks are looked for, too.
        with self._told("listing the tasks of its swarm"):
            found = self._client.tasks()  # type: ignore[no-untyped-call]
        return tuple(sorted((_task(item) for item in found), key=lambda task: (task.slot, task.created)))

    def _log(self, what: str, path: str, check: Callable[[], None], *, follow: bool) -> Iterator[bytes]:
        silent = time.monotonic() + _SILENT

        def waiting() -> None:
            check()
            # Managers ask the node, and wait for one that is gone without an end.
            if not follow and time.monotonic() > silent:
                raise DockerError(
                    f"{what} did not come whole: a node said nothing for {_SILENT:.0f} s",
                    hint="`docker node ls` says which one is down",
                )

        def read(client: Any) -> Iterator[bytes]:
            wanted = {"stdout": True, "stderr": True, "follow": follow}
            # The SDK has no call for tasks.
            answer = client._get(client._url(path), params=wanted, stream=True)  # noqa: SLF001
            client._raise_for_status(answer)  # noqa: SLF001
            yield from client._multiplexed_response_stream_helper(answer)  # noqa: SLF001

        with self._told(f"reading {what}"):
            for piece in heard(self._another(CALL), read, waiting):
                silent = time.monotonic() + _SILENT
                yield _written(piece, what)


def _written(piece: bytes, what: str) -> bytes:
    """A piece of a log; DockerError where a manager has put what went wrong in the place of what a task wrote."""
    if not piece.startswith(_NO_LOG):
        return piece
    why = " ".join(piece.removeprefix(_NO_LOG).decode(errors="replace").split())
    raise DockerError(f"{what} did not come whole: {why}", hint="`docker node ls` says which node is down")


def _secret(use: SecretUse) -> Any:
    from docker import types  # noqa: PLC0415

    return types.SecretReference(
        use.id, use.name, filename=use.target, uid=str(use.user), gid=str(use.user), mode=0o400
    )


def _resources(spec: JobSpec) -> Any:
    from docker import types  # noqa: PLC0415

    def nano(cpus: float | None) -> int | None:
        return None if cpus is None else round(cpus * _NANO)

    return types.Resources(
        cpu_limit=nano(spec.cpus),
        mem_limit=spec.memory,
        cpu_reservation=nano(spec.reserved_cpus),
        mem_reservation=spec.reserved_memory,
    )


def _task(item: Mapping[str, Any]) -> TaskFacts:
    status = item.get("Status") or {}
    container = status.get("ContainerStatus") or {}
    state = str(status.get("State") or "new")
    ended = state in ("complete", "failed") and "ExitCode" in container
    return TaskFacts(
        id=str(item["ID"]),
        service=str(item.get("ServiceID") or ""),
        slot=int(item.get("Slot") or 1) - 1,
        node=str(item.get("NodeID") or ""),
        state=state,
        desired=str(item.get("DesiredState") or ""),
        message=str(status.get("Message") or ""),
        error=str(status.get("Err") or ""),
        container=str(container.get("ContainerID") or ""),
        code=int(container["ExitCode"]) if ended else None,
        created=_seconds(item.get("CreatedAt")),
        changed=_seconds(status.get("Timestamp")),
    )


def _seconds(moment: object) -> float:
    """Seconds since the epoch of a time as Go writes it: with nine decimals, of which Python reads six."""
    text, _, rest = str(moment or "").rstrip("Z").partition(".")
    try:
        whole = datetime.fromisoformat(f"{text}+00:00").timestamp()
    except ValueError:
        return 0.0
    return whole + (float(f"0.{rest}") if rest.isdigit() else 0.0)
