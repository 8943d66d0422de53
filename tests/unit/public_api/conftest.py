"""A provider on this machine, for programs that use the public names alone."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class Provider(ThreadingHTTPServer):
    """Answers every POST with a chat completion that counts: "Hello 1", "Hello 2", …; or with `status`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked = 0
        self.status = 200

    @property
    def url(self) -> str:
        """Where its API begins."""
        return f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: Provider

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.server.asked += 1
        text = f"Hello {self.server.asked}"
        message = {"role": "assistant", "content": text}
        answer = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "small"}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        body = json.dumps({**answer, "choices": [choice]}).encode()
        self.send_response(self.server.status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the standard library's name
        """Say nothing."""


@pytest.fixture
def provider() -> Iterator[Provider]:
    """One that is there until the test ends."""
    with Provider() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()
