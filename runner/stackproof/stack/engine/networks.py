"""Calls of the engine about networks."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from stackproof.stack.engine.calls import Calls

_STEP = 0.05  # seconds between two looks
_ENDS = 30.0  # seconds that a removed network has to be gone in
# Docker's words while what was in it is on its way out: a container, and a container's place in a network of a swarm.
_STILL = ("has active endpoints", "is in use by task")


class Networks(Calls):
    """Networks: made, looked at, joined, removed."""

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
        """Remove a network, by id or name, and wait until it is gone; nothing happens where it is not there.

        What was in it may need a moment to be out. A manager forgets one that spans nodes at once, and its own engine
        only after it has been told: what is not gone by then goes by itself.
        """
        with self._told(f"removing network {name}"):
            found = self._or_none(lambda: self._client.inspect_network(name))
            if found is None:
                return
            network, deadline = str(found["Id"]), time.monotonic() + _ENDS
            self._removed(network, deadline)
            while self._or_none(lambda: self._client.inspect_network(network)) and time.monotonic() < deadline:
                time.sleep(_STEP)

    def _removed(self, network: str, deadline: float) -> None:
        from docker.errors import APIError  # noqa: PLC0415

        while True:
            try:
                self._or_none(lambda: self._client.remove_network(network))
            except APIError as error:
                still = any(words in str(error.explanation or error) for words in _STILL)
                if not still or time.monotonic() > deadline:
                    raise
                time.sleep(_STEP)
            else:
                return
