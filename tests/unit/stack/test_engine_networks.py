"""A network that was removed is waited for: a manager forgets one before its own engine does."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("docker", reason="the Docker SDK is not installed")
from docker.errors import NotFound

from stackproof.stack.endpoint import Endpoint
from stackproof.stack.engine import networks

WHERE = Endpoint(url="unix:///var/run/docker.sock", source="the default")


class Client:
    """Knows a network for some looks after it was removed."""

    def __init__(self, looks: int) -> None:
        self.looks, self.removed = looks, list[str]()

    def inspect_network(self, name: str) -> dict[str, str]:
        if self.removed:
            self.looks -= 1
        if self.looks < 0:
            raise NotFound(f"network {name} not found")
        return {"Id": "n1"}

    def remove_network(self, name: str) -> None:
        self.removed.append(name)


def engine_of(client: Client) -> Any:
    given: Any = client
    facts: Any = None
    return networks.Networks(given, WHERE, facts)


@pytest.mark.parametrize("looks", [0, 3])
def test_it_is_waited_for(looks: int) -> None:
    client = Client(looks)
    engine_of(client).remove_network("net")
    assert (client.removed, client.looks) == (["n1"], -1)


def test_one_that_is_not_there_is_not_removed() -> None:
    client = Client(-1)
    engine_of(client).remove_network("net")
    assert client.removed == []


def test_one_that_stays_is_waited_for_only_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networks, "_ENDS", 0.2)
    client = Client(1_000_000)
    engine_of(client).remove_network("net")
    assert client.removed == ["n1"]
    assert client.looks < 1_000_000 - 1
