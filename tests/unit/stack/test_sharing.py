"""What an engine's address tells of folders and addresses that it shares, and what only a try can tell."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from stackproof.errors import UsageError
from stackproof.stack import ports, sharing
from stackproof.stack.endpoint import Endpoint
from stackproof.stack.engine_records import EngineFacts
from stackproof.stack.sharing import Sharing


def decide(url: str, *, asked: str = "", name: str = "here") -> Sharing:
    facts = EngineFacts(version="28", api=(1, 50), name=name, system="Linux", architecture="x86_64", rootless=False)
    environment = {sharing.VARIABLE: asked} if asked else {}
    return sharing.decide(Endpoint(url=url, source="test"), facts, environment, host="here")


@pytest.mark.parametrize("url", ["unix:///var/run/docker.sock", "tcp://127.0.0.1:2375", "tcp://localhost:2375"])
def test_of_an_engine_that_seems_to_be_here_a_try_tells(url: str) -> None:
    found = decide(url)
    assert (found.folders, found.addresses, found.machine, found.publish_at) == (None, None, "127.0.0.1", "127.0.0.1")


@pytest.mark.parametrize(("name", "proof"), [("here", False), ("a-virtual-machine", True)])
def test_a_machine_of_another_name_has_to_prove_that_it_sees_our_folders(name: str, proof: bool) -> None:
    assert decide("unix:///var/run/docker.sock", name=name).proof is proof


@pytest.mark.parametrize("url", ["tcp://build.example:2376", "ssh://me@build.example"])
def test_another_machine_shares_nothing_and_publishes_where_it_can_be_reached(url: str) -> None:
    found = decide(url)
    assert (found.folders, found.addresses, found.machine) == (False, False, "build.example")
    assert found.publish_at == "0.0.0.0"
    assert "build.example" in found.why


@pytest.mark.parametrize(
    ("url", "through"), [("unix:///x.sock", False), ("tcp://127.0.0.1:2375", True), ("ssh://build.example", True)]
)
def test_only_a_socket_may_have_more_ports_beside_it(url: str, through: bool) -> None:
    assert decide(url).through is through


def test_a_name_that_only_ssh_knows_leads_nowhere_else() -> None:
    assert sharing.unknown(decide("ssh://me@builder.invalid")) == "builder.invalid is a name that only ssh knows"
    assert sharing.unknown(decide("ssh://me@127.0.0.1:2222")) == ""
    assert sharing.unknown(decide("unix:///x.sock")) == ""


def test_the_variable_has_the_last_word() -> None:
    copied = decide("unix:///var/run/docker.sock", asked="copy")
    assert (copied.folders, copied.addresses) == (False, False)
    mounted = decide("tcp://build.example:2376", asked="mount")
    assert (mounted.folders, mounted.proof, mounted.machine) == (True, True, "build.example")
    with pytest.raises(UsageError, match="STACKPROOF_DOCKER_SHARING: 'maybe' is neither"):
        decide("unix:///var/run/docker.sock", asked="maybe")


def test_a_port_at_which_nobody_listens_yet_can_be_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Loopback stands for a container's network here, and has no route of its own.
    monkeypatch.setattr(sharing, "_ROUTES", tmp_path / "no-routes")
    port = ports.free_port()
    assert sharing.reachable("127.0.0.1", port)
    with socket.create_server(("127.0.0.1", port)):
        assert sharing.reachable("127.0.0.1", port)
    assert not sharing.reachable("no-such-host.invalid", port)
