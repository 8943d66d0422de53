"""What containers are told to call: this machine by its address in their network, where it has one that leads here."""

from __future__ import annotations

from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest

from stackproof.errors import DockerError
from stackproof.stack.place import Place
from stackproof.stack.sharing import Sharing

HERE = Sharing(folders=None, addresses=None, why="tried")
ELSEWHERE = Sharing(
    folders=False, addresses=False, why="it is on build.example", machine="build.example", publish_at="0.0.0.0"
)
URL = "http://localhost:11434/v1"


def place(undo: ExitStack, gateway: str | None, sharing: Sharing = HERE) -> Place:
    engine: Any = SimpleNamespace(
        endpoint="tcp://build.example:2376 (DOCKER_HOST)", facts=SimpleNamespace(product="Docker", rootless=False)
    )
    return Place(
        engine=engine,
        image="image",
        network="network",
        internal=False,
        gateway=gateway,
        labels={},
        token="token",
        undo=undo,
        sharing=sharing,
    )


def test_a_provider_on_this_machine_is_called_at_the_gateway() -> None:
    with ExitStack() as undo:
        moved = place(undo, "127.0.0.1").outward(URL)
        assert moved.startswith("http://127.0.0.1:")
        assert moved.endswith("/v1")
        assert moved != URL


def test_a_provider_on_another_machine_stays_where_it_is() -> None:
    with ExitStack() as undo:
        assert place(undo, None, ELSEWHERE).outward("https://api.example/v1") == "https://api.example/v1"


@pytest.mark.parametrize(("gateway", "sharing"), [("192.0.2.1", HERE), ("127.0.0.1", ELSEWHERE)])
def test_a_gateway_that_is_not_this_machine_leads_to_no_provider_here(gateway: str, sharing: Sharing) -> None:
    with (
        ExitStack() as undo,
        pytest.raises(DockerError, match="localhost:11434/v1 is on this machine, and the containers of the engine"),
    ):
        place(undo, gateway, sharing).outward(URL)
