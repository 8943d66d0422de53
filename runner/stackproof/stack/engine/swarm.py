"""Calls of the engine about the swarm that it is part of: nodes, networks that span them, secrets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stackproof.stack.engine.calls import Calls
from stackproof.stack.engine_records import NodeFacts, Owned, SwarmFacts

_ACTIVE = ("active", "locked", "error", "pending")


class Swarm(Calls):
    """The swarm itself. All but `swarm` are for its managers: another engine refuses them with a DockerError."""

    def swarm(self) -> SwarmFacts | None:
        """The swarm that this engine is part of; None where it is part of none."""
        with self._told("asking for its swarm"):
            said = self._client.info().get("Swarm") or {}
        if said.get("LocalNodeState") not in _ACTIVE:
            return None
        return SwarmFacts(
            id=str((said.get("Cluster") or {}).get("ID") or ""),
            node=str(said.get("NodeID") or ""),
            is_manager=bool(said.get("ControlAvailable")),
            nodes=int(said.get("Nodes") or 0),
            address=str(said.get("NodeAddr") or ""),
            problem=str(said.get("Error") or ""),
        )

    def nodes(self) -> tuple[NodeFacts, ...]:
        """All machines of the swarm, by their names."""
        with self._told("listing the nodes of its swarm"):
            found = self._client.nodes()
        return tuple(sorted((_node(item) for item in found), key=lambda node: (node.hostname, node.id)))

    def create_overlay(self, name: str, *, labels: Mapping[str, str], internal: bool, attachable: bool = True) -> str:
        """A network that spans the nodes; returns its id. internal: nothing gets out of it.

        attachable: containers that are no tasks may join it.
        """
        with self._told(f"making network {name}"):
            made = self._client.create_network(
                name,
                driver="overlay",
                labels=dict(labels),
                internal=internal,
                attachable=attachable,
                scope="swarm",
                check_duplicate=True,
            )
        return str(made["Id"])

    def create_secret(self, name: str, value: bytes, *, labels: Mapping[str, str]) -> str:
        """Keep a value with the managers, who give it to tasks that name it and to nobody else; returns its id.

        value: up to 500 kB. It cannot be read back.
        """
        with self._told(f"keeping secret {name}"):
            made = self._client.create_secret(name, value, labels=dict(labels))
        return str(made["ID"])

    def remove_secret(self, secret: str) -> None:
        """Remove a secret; nothing happens where it is not there. DockerError while a service uses it."""
        with self._told(f"removing secret {secret}"):
            self._or_none(lambda: self._client.remove_secret(secret))

    def owned_in_swarm(self, label: str) -> tuple[Owned, ...]:
        """Services, secrets and networks of its swarm that carry a label; none where this engine manages no swarm."""
        facts = self.swarm()
        if facts is None or not facts.is_manager:
            return ()
        picked = {"label": label}
        with self._told(f"listing what of its swarm carries {label}"):
            services = self._client.services(filters=picked)  # type: ignore[no-untyped-call]
            secrets = self._client.secrets(filters=picked)
            networks = self._client.networks(filters={**picked, "scope": "swarm"})
        return (
            *(_owned("service", item, running=True) for item in services),
            *(_owned("secret", item, running=False) for item in secrets),
            *(
                Owned(kind="network", id=str(item["Id"]), name=str(item["Name"]), labels=dict(item.get("Labels") or {}))
                for item in networks
            ),
        )


def _owned(kind: str, item: Mapping[str, Any], *, running: bool) -> Owned:
    spec = item["Spec"]
    return Owned(
        kind=kind, id=str(item["ID"]), name=str(spec["Name"]), labels=dict(spec.get("Labels") or {}), running=running
    )


def _node(item: Mapping[str, Any]) -> NodeFacts:
    spec, about, status = item.get("Spec") or {}, item.get("Description") or {}, item.get("Status") or {}
    has = about.get("Resources") or {}
    return NodeFacts(
        id=str(item["ID"]),
        hostname=str(about.get("Hostname") or item["ID"]),
        status=str(status.get("State") or "unknown"),
        availability=str(spec.get("Availability") or ""),
        is_manager=spec.get("Role") == "manager",
        address=str(status.get("Addr") or ""),
        cpus=int(has.get("NanoCPUs") or 0) / 1e9,
        memory=int(has.get("MemoryBytes") or 0),
        message=str(status.get("Message") or ""),
    )
