"""A network that was removed is waited for: a manager forgets one before its own engine does."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("docker", reason="the Docker SDK is not installed")
from docker.errors import APIError, NotFound

from stackproof.errors import DockerError
from stackproof.stack.endpoint import Endpoint
from stackproof.stack.engine import networks

WHERE = Endpoint(url="unix:///var/run/docker.sock", source="the default")


class Client:
    """Knows a network for some looks after it was removed, which it is not while it says what is in it."""

    def __init__(self, looks: int, *says: str) -> None:
        self.looks, self.removed, self.says = looks, list[str](), list(says)

    def inspect_network(self, name: str) -> dict[str, str]:
        if self.removed:
            self.looks -= 1
        if self.looks < 0:
            raise NotFound(f"network {name} not found")
        return {"Id": "n1"}

    def remove_network(self, name: str) -> None:
        if self.says:
            raise APIError("403 Client Error", explanation=self.says.pop(0))
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


@pytest.mark.parametrize(
    "says", ["error while removing network: network net id n1 has active endpoints", "network n1 is in use by task t7"]
)
def test_what_was_in_it_may_need_a_moment_to_be_out(says: str) -> None:
    client = Client(0, says, says)
    engine_of(client).remove_network("net")
    assert client.removed == ["n1"]


def test_what_is_no_matter_of_a_moment_is_told() -> None:
    client = Client(0, "net is a pre-defined network and cannot be removed", "and again")
    with pytest.raises(DockerError, match="is a pre-defined network"):
        engine_of(client).remove_network("net")
    assert client.says == ["and again"]


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
