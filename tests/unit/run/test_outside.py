"""What a container that calls out is told of this machine: providers, proxies, certificates."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stackproof.catalog.records import ProviderSpec
from stackproof.errors import DockerError
from stackproof.run import outside
from stackproof.stack.place import Place
from stackproof.stack.sharing import Sharing

CELL: Any = SimpleNamespace(setup=SimpleNamespace(providers=(ProviderSpec(name="p", variable="P_URL"),)))


def place(undo: ExitStack, gateway: str | None) -> Place:
    engine: Any = SimpleNamespace(
        endpoint="unix:///run/docker.sock (default)", facts=SimpleNamespace(product="Docker", rootless=False)
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
        sharing=Sharing(folders=None, addresses=None, why="tried"),
    )


def test_a_proxy_on_this_machine_is_called_at_the_gateway_with_its_credentials() -> None:
    values = {
        "P_URL": "https://api.example/v1",
        "https_proxy": "http://me:secret@127.0.0.1:3128",
        "HTTPS_PROXY": "http://me:secret@127.0.0.1:3128",
        "http_proxy": "http://proxy.example:3128",
        "NO_PROXY": "corp.example",
    }
    with ExitStack() as undo:
        moved = outside.moved(CELL, values, place(undo, "127.0.0.1"))
    # Elsewhere: called as they are. What is moved would be called past the proxy, and api.example must not be.
    assert set(moved) == {"https_proxy", "HTTPS_PROXY"}
    assert moved["https_proxy"] == moved["HTTPS_PROXY"] != values["https_proxy"]
    assert moved["https_proxy"].startswith("http://me:secret@127.0.0.1:")


def test_one_that_containers_cannot_call_is_named_without_its_password() -> None:
    values = {"HTTPS_PROXY": "http://me:secret@localhost:3128"}
    with ExitStack() as undo, pytest.raises(DockerError) as caught:
        outside.moved(CELL, values, place(undo, None))
    assert caught.value.message.startswith("HTTPS_PROXY names a proxy that containers cannot call: http://me:***@local")
    assert "secret" not in f"{caught.value.message} {caught.value.hint}"
    assert "--env HTTPS_PROXY=" in (caught.value.hint or "")


def test_each_file_of_authorities_is_copied_once(tmp_path: Path) -> None:
    one, other = tmp_path / "one.pem", tmp_path / "other.pem"
    one.write_text("one")
    other.write_text("other")
    values = {
        "SSL_CERT_FILE": str(one),
        "REQUESTS_CA_BUNDLE": str(one),
        "NODE_EXTRA_CA_CERTS": str(other),
        "CURL_CA_BUNDLE": str(tmp_path / "gone.pem"),
        "AWS_CA_BUNDLE": "",
        "PATH": "/bin",
    }
    found = outside.authorities(values, tmp_path / "cell" / "guest")
    assert {Path(path).parent for path in found.values()} == {tmp_path / "cell" / "guest"}
    assert found["SSL_CERT_FILE"] == found["REQUESTS_CA_BUNDLE"] != found["NODE_EXTRA_CA_CERTS"]
    assert {name: Path(path).read_text() for name, path in found.items()} == {
        "SSL_CERT_FILE": "one",
        "REQUESTS_CA_BUNDLE": "one",
        "NODE_EXTRA_CA_CERTS": "other",
    }
    assert outside.authorities({}, tmp_path / "none") == {}
    assert not (tmp_path / "none").exists()
