"""The gateway on Node.js by itself, in front of a provider of the test's own."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from stackproof.stack import ports

LONGEST = 60.0
CHAT = "/v1/chat/completions"
BODY = {"model": "ollama/small", "messages": [{"role": "user", "content": "Hi"}], "temperature": 0, "min_p": 0.05}


@dataclass
class Seen:
    """What the provider was asked, and what it answers."""

    path: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None
    status: int = 200
    answer: bytes = b'{"id": "c-1",  "choices": []}'
    pieces: tuple[bytes, ...] = ()
    go_on: threading.Event = field(default_factory=threading.Event)
    caller_left: threading.Event = field(default_factory=threading.Event)


@pytest.fixture(name="seen")
def _seen() -> Seen:
    return Seen()


@pytest.fixture(name="provider")
def _provider(seen: Seen) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            seen.path, seen.headers = self.path, {name.lower(): value for name, value in self.headers.items()}
            self._whole()

        def do_POST(self) -> None:
            seen.path, seen.headers = self.path, {name.lower(): value for name, value in self.headers.items()}
            seen.body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if seen.pieces:
                self._stream()
            else:
                self._whole()

        def _whole(self) -> None:
            self.send_response(seen.status)
            self.send_header("content-type", "application/json")
            self.send_header("x-should-retry", "false")
            self.send_header("content-length", str(len(seen.answer)))
            self.end_headers()
            self.wfile.write(seen.answer)

        def _stream(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            try:
                for piece in seen.pieces:
                    self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                    self.wfile.flush()
                    seen.go_on.wait(4 * LONGEST)
                if not self.connection.recv(1):
                    seen.caller_left.set()
            except OSError:
                seen.caller_left.set()
            self.close_connection = True

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        seen.go_on.set()
        server.shutdown()
        server.server_close()
        thread.join(LONGEST)


class Gateway:
    """A running one; `ask` sends a request and reads its answer."""

    def __init__(self, node: str, folder: Path, environment: Mapping[str, str]) -> None:
        self.port = ports.free_port()
        self.process = subprocess.Popen(
            [node, "server.js", "--port", str(self.port)],
            cwd=folder,
            env=dict(environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self.process.stdout is not None
        first = self.process.stdout.readline()
        assert first == f"listening at http://127.0.0.1:{self.port}\n", first + self.process.stdout.read()

    def open(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LONGEST)
        content = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        connection.request(method, path, content, {"content-type": "application/json", **(headers or {})})
        return connection, connection.getresponse()

    def ask(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        connection, response = self.open(method, path, body, headers)
        try:
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    def close(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=LONGEST)


@pytest.fixture(name="running")
def _running(node: str, gateway: Path, environment: Mapping[str, str], provider: str) -> Iterator[Gateway]:
    running = Gateway(node, gateway, {**environment, "OLLAMA_URL": provider, "REFERENCE_NODE_FORWARD": "x-id,baggage"})
    try:
        yield running
    finally:
        running.close()


def test_a_request_reaches_the_provider_as_it_was_sent(running: Gateway, seen: Seen) -> None:
    connection, response = running.open("POST", CHAT, BODY)
    assert response.read() == seen.answer  # byte for byte
    connection.close()
    assert seen.path == CHAT
    assert seen.body == {**BODY, "model": "small"}


def test_messages_reach_the_provider_too(running: Gateway, seen: Seen) -> None:
    body = {"model": "ollama/small", "max_tokens": 4, "messages": [], "top_k": 3}
    assert running.ask("POST", "/v1/messages", body, {"anthropic-beta": "a-day"})[0] == 200
    assert (seen.path, seen.body) == ("/v1/messages", {**body, "model": "small"})
    assert seen.headers["anthropic-beta"] == "a-day"


def test_only_the_headers_that_are_named_go_on(running: Gateway, seen: Seen) -> None:
    running.ask(
        "POST", CHAT, BODY, {"X-Id": '{"a": 1}', "Baggage": "k=v", "X-Other": "mine", "Authorization": "theirs"}
    )
    assert (seen.headers["x-id"], seen.headers["baggage"]) == ('{"a": 1}', "k=v")
    assert "x-other" not in seen.headers
    assert seen.headers["authorization"] == "Bearer no-key"


def test_models_carry_the_providers_name(running: Gateway, seen: Seen) -> None:
    seen.answer = b'{"object": "list", "data": [{"id": "small", "created": 1}]}'
    status, body = running.ask("GET", "/v1/models", headers={"baggage": "k=v"})
    assert (status, body["data"]) == (200, [{"object": "model", "id": "ollama/small", "created": 1}])
    assert seen.headers["baggage"] == "k=v"


def test_events_come_as_they_are_sent(running: Gateway, seen: Seen) -> None:
    seen.pieces = (b'data: {"n": 1}\n\n', b"data: [DONE]\n\n")
    connection, response = running.open("POST", CHAT, {**BODY, "stream": True})
    assert response.read1(1000) == seen.pieces[0]  # the provider has not sent the other yet
    seen.go_on.set()
    connection.close()


def test_a_client_that_leaves_ends_the_call_to_the_provider(running: Gateway, seen: Seen) -> None:
    seen.pieces = (b'data: {"n": 1}\n\n', *(b"data: {}\n\n" for _ in range(200)))
    connection, response = running.open("POST", CHAT, {**BODY, "stream": True})
    response.read1(1000)
    response.close()
    connection.close()
    seen.go_on.set()
    assert seen.caller_left.wait(LONGEST)


def test_an_error_of_the_provider_is_passed_on(running: Gateway, seen: Seen) -> None:
    seen.status, seen.answer = 429, b'{"error": {"message": "slow down", "type": "x", "code": null, "param": null}}'
    connection, response = running.open("POST", CHAT, BODY)
    assert response.status == 429
    assert response.headers["x-should-retry"] == "false"
    assert json.loads(response.read())["error"]["message"] == "slow down"
    connection.close()


@pytest.mark.parametrize(
    ("asked", "status", "said"),
    [
        (("POST", CHAT, b'{"model": '), 400, "not valid JSON"),
        (("POST", CHAT, [1]), 400, "must be a JSON object"),
        (("POST", CHAT, {"messages": []}), 400, "Missing required parameter: 'model'"),
        (("POST", CHAT, {"model": 7, "messages": []}), 400, "must be a string"),
        (("POST", CHAT, {"model": "nobody/x", "messages": []}), 404, "'nobody/x' does not exist"),
        (("POST", "/v1/messages", {"model": "nobody/x", "max_tokens": 1, "messages": []}), 404, "does not exist"),
        (("GET", CHAT, None), 405, "Method Not Allowed"),
        (("GET", "/v1/nothing", None), 404, "Not Found"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    running: Gateway, asked: tuple[str, str, object], status: int, said: str
) -> None:
    answered, told = running.ask(*asked)
    assert answered == status
    assert said in told["error"]["message"]


def test_a_provider_that_is_not_there_is_a_bad_gateway(
    node: str, gateway: Path, environment: Mapping[str, str]
) -> None:
    silent = socket.socket()
    silent.bind(("127.0.0.1", 0))  # nobody listens there, and nobody else can
    nowhere = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
    running = Gateway(node, gateway, {**environment, "OLLAMA_URL": nowhere})
    try:
        status, told = running.ask("POST", CHAT, BODY)
        assert status == 502
        assert "'ollama' gave no answer" in told["error"]["message"]
        assert "ECONNREFUSED" in told["error"]["message"]
    finally:
        running.close()
        silent.close()


def test_it_ends_when_it_is_asked_to_while_a_stream_is_open(running: Gateway, seen: Seen) -> None:
    seen.pieces = (b"data: {}\n\n",)
    connection, response = running.open("POST", CHAT, {**BODY, "stream": True})
    response.read1(1000)
    running.process.terminate()
    assert running.process.wait(timeout=LONGEST) == 0
    connection.close()
