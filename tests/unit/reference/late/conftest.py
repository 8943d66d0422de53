"""A gateway in front of a provider that listens: these SDKs bring HTTP clients of their own."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2
import pytest

from reference_stack.app import create_app
from stackproof.stack.inprocess import InProcessApp


@dataclass(kw_only=True, slots=True)
class Asked:
    """A request that came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass(kw_only=True, slots=True)
class Provider:
    """Answers everything with `status` and `body` (bytes as they are), and notes what it was asked."""

    url: str = ""
    status: int = 200
    body: Any = None
    media_type: str = "application/json"
    asked: list[Asked] = field(default_factory=list)

    def content(self) -> bytes:
        """The body in bytes."""
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


@pytest.fixture
def provider() -> Iterator[Provider]:
    """It, on the loopback interface."""
    told = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = json.loads(text) if text else None
            told.asked.append(Asked(method=self.command, path=self.path, headers=headers, body=body))
            content = told.content()
            self.send_response(told.status)
            self.send_header("content-type", told.media_type)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST  # noqa: N815

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    told.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield told
    server.shutdown()
    server.server_close()
    thread.join(60)


@pytest.fixture
def client(provider: Provider) -> Iterator[httpx2.Client]:
    """A client of a gateway whose providers are all at that address."""
    yield from _clients(provider.url)


@pytest.fixture
def client_of_nobody() -> Iterator[httpx2.Client]:
    """A client of a gateway whose providers do not listen, though they have a port."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        yield from _clients(f"http://127.0.0.1:{silent.getsockname()[1]}")


def _clients(url: str) -> Iterator[httpx2.Client]:
    environ = {
        "OLLAMA_URL": f"{url}/v1",
        "VLLM_URL": f"{url}/v1",
        "VLLM_API_TOKEN": "a-token",
        "GEMINI_BASE_URL": f"{url}/v1beta/openai",
        "GEMINI_API_KEY": "a-key",
        "TAVILY_URL": url,
        "TAVILY_API_KEY": "a-key-for-search",
    }
    with ExitStack() as stack:
        running = stack.enter_context(InProcessApp(create_app(environ), close_grace=1.0))
        yield stack.enter_context(
            httpx2.Client(transport=running.transport(), base_url="http://stack.invalid", timeout=60)
        )
