"""Which Docker engine is meant, and what is said when it does not answer."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
import requests
from urllib3.exceptions import ProtocolError

from stackproof.errors import DockerError, ExitCode
from stackproof.stack import endpoint, engine, ports
from stackproof.stack.engine_words import reason_of

CONTEXT = "far-away"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home folder whose Docker configuration knows one context."""
    folder = tmp_path / ".docker/contexts/meta" / hashlib.sha256(CONTEXT.encode()).hexdigest()
    folder.mkdir(parents=True)
    meta = {"Name": CONTEXT, "Endpoints": {"docker": {"Host": "tcp://192.0.2.7:2376", "SkipTLSVerify": True}}}
    (folder / "meta.json").write_text(json.dumps(meta))
    return tmp_path


def test_docker_host_comes_before_every_context(home: Path) -> None:
    found = endpoint.choose({"HOME": str(home), "DOCKER_HOST": "unix:///x.sock", "DOCKER_CONTEXT": CONTEXT})
    assert str(found) == "unix:///x.sock (DOCKER_HOST)"
    assert found.socket == Path("/x.sock")


def test_an_address_without_a_scheme_is_tcp_as_for_dockers_own_command(home: Path) -> None:
    found = endpoint.choose({"HOME": str(home), "DOCKER_HOST": "192.0.2.1:2376", "DOCKER_TLS_VERIFY": "1"})
    assert (found.url, found.tls, found.socket) == ("tcp://192.0.2.1:2376", home / ".docker", None)


@pytest.mark.parametrize(
    ("more", "tls", "verify"),
    [({"DOCKER_TLS_VERIFY": "0"}, True, True), ({"DOCKER_TLS": "1"}, True, False), ({}, False, False)],
)
def test_a_folder_of_certificates_by_itself_asks_for_no_tls(
    tmp_path: Path, more: dict[str, str], tls: bool, verify: bool
) -> None:
    found = endpoint.choose({"DOCKER_HOST": "tcp://192.0.2.1:2376", "DOCKER_CERT_PATH": str(tmp_path), **more})
    assert (found.tls, found.verify) == (tmp_path if tls else None, verify)


@pytest.mark.parametrize("password", ["geheim", "ge:heim", "ge@heim", "ge:h@im:"])
def test_a_password_in_an_address_is_not_repeated(password: str) -> None:
    found = endpoint.choose({"DOCKER_HOST": f"ssh://me:{password}@192.0.2.1:22/run/a@b.sock"})
    assert str(found) == "ssh://me:***@192.0.2.1:22/run/a@b.sock (DOCKER_HOST)"
    assert reason_of(ValueError(f"{found.url} is odd"), found).text == "ssh://me:***@192.0.2.1:22/run/a@b.sock is odd"
    assert password not in reason_of(TimeoutError(), found).remedy


def test_an_address_without_a_password_is_said_as_it_is() -> None:
    found = endpoint.choose({"DOCKER_HOST": "ssh://192.0.2.1:22/run/a@b.sock"})
    assert str(found) == "ssh://192.0.2.1:22/run/a@b.sock (DOCKER_HOST)"


def test_the_context_of_the_environment_comes_before_the_one_in_use(home: Path) -> None:
    (home / ".docker/config.json").write_text(json.dumps({"currentContext": "gone"}))
    found = endpoint.choose({"HOME": str(home), "DOCKER_CONTEXT": CONTEXT})
    assert str(found) == "tcp://192.0.2.7:2376 (context 'far-away' of DOCKER_CONTEXT)"
    assert not found.verify


def test_the_context_in_use_is_named_with_the_file_that_says_so(home: Path) -> None:
    (home / ".docker/config.json").write_text(json.dumps({"currentContext": CONTEXT}))
    found = endpoint.choose({"HOME": str(home)})
    assert found.source == f"context 'far-away' of currentContext in {home / '.docker/config.json'}"


def test_a_context_that_is_not_there_is_named(home: Path) -> None:
    with pytest.raises(DockerError, match=r"no Docker context 'gone' \(DOCKER_CONTEXT\)") as caught:
        endpoint.choose({"HOME": str(home), "DOCKER_CONTEXT": "gone"})
    assert "docker context ls" in str(caught.value.hint)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"currentContext": null}', '{"currentContext": "default"}'])
def test_without_a_choice_it_is_the_default(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    found = endpoint.choose({"DOCKER_CONFIG": str(tmp_path), "DOCKER_HOST": " "})
    assert str(found) == "unix:///var/run/docker.sock (default)"


@contextmanager
def engine_saying(path: Path, answer: dict[str, object]) -> Iterator[None]:
    """Something at a Unix socket that gives one answer to every question."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def address_string(self) -> str:
            return "socket"

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class calls it so
            """Say nothing."""

    with socketserver.ThreadingUnixStreamServer(str(path), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join(timeout=60)


def refusal(host: str, without: str | None = None, patience: float = 60.0) -> DockerError:
    """What is said of an engine at `host`."""
    with pytest.raises(DockerError) as caught:
        engine.connect({"DOCKER_HOST": host}, without=without, patience=patience)
    assert caught.value.exit_code == ExitCode.DOCKER
    assert "\n" not in caught.value.message
    return caught.value


def test_a_socket_that_is_not_there_is_named_with_its_source_and_the_way_without_docker() -> None:
    error = refusal("unix:///nowhere/docker.sock", without="stackproof run --stack-config server:reference")
    assert error.message == (
        "no Docker engine answered at unix:///nowhere/docker.sock (DOCKER_HOST): there is no such socket"
    )
    assert str(error.hint).endswith("\nwithout Docker: stackproof run --stack-config server:reference")


def test_nobody_listens(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(tmp_path / "d.sock"))
    assert "nothing listens there" in refusal(f"unix://{tmp_path / 'd.sock'}").message
    assert "nothing listens there" in refusal(f"tcp://127.0.0.1:{ports.free_port()}").message


def test_an_engine_that_answers_nothing_has_a_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        said = refusal(f"tcp://127.0.0.1:{server.getsockname()[1]}", patience=1.0).message
    assert "answered nothing in time" in said


def test_after_a_call_without_an_answer_nobody_waits_that_long_again(tmp_path: Path) -> None:
    with engine_saying(tmp_path / "d.sock", {"Version": "28.0", "ApiVersion": "1.50"}):
        found = engine.connect({"DOCKER_HOST": f"unix://{tmp_path / 'd.sock'}"})
    (tmp_path / "d.sock").unlink()
    with contextlib.closing(found), socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "d.sock"))
        silent.listen()
        found._client.close()
        found._client.timeout = 1
        with pytest.raises(DockerError, match="failed while listing images: it answered nothing in time"):
            found.named()
        assert found._client.timeout == engine.calls._AFTERWARDS


def test_a_socket_without_permission_names_the_group() -> None:
    refused = requests.exceptions.ConnectionError(ProtocolError("aborted", PermissionError(13, "Permission denied")))
    reason = reason_of(refused, endpoint.choose({}))
    assert reason.text == f"user {os.getuid()} may not use it"
    assert "usermod -aG docker" in reason.remedy


def test_an_engine_that_is_too_old_is_told_apart_from_none(tmp_path: Path) -> None:
    with engine_saying(tmp_path / "d.sock", {"Version": "19.03.15", "ApiVersion": "1.40"}):
        message = refusal(f"unix://{tmp_path / 'd.sock'}").message
    assert "is 19.03.15 with API 1.40; 1.41 (Docker 20.10) is the oldest that works" in message


def test_what_is_no_engine_is_no_engine(tmp_path: Path) -> None:
    with engine_saying(tmp_path / "d.sock", {"hello": "world"}):
        assert refusal(f"unix://{tmp_path / 'd.sock'}").message.endswith("(DOCKER_HOST) is no Docker engine")
    assert "gopher" in refusal("gopher://127.0.0.1:70").message
