"""A provider on the loopback interface that sends the events of a stream 60 ms apart and counts what it is asked.

Paths begin with `/<tool>/<client>/<case>/v1`, where the case is `ok` or the status to refuse with. What follows is the
path of a provider's API. `/ten` answers with ten chunks of 13 bytes. The formats are those of the tests of the SDKs.
"""

from __future__ import annotations

import importlib.util
import json
import socket
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

APART = 0.06  # seconds
CHUNKS = tuple(f'data: {{"n": {number}}}\n\n'.encode() for number in range(10))
_AWS_ERRORS = {400: "ValidationException", 429: "ThrottlingException"}


def load_wires(project: Path) -> Any:
    """The wire formats that the tests of the SDKs are run on; their folder is no package."""
    spec = importlib.util.spec_from_file_location("peers_wires", project / "tests/e2e/sdk/wires.py")
    if spec is None or spec.loader is None:
        raise ImportError("tests/e2e/sdk/wires.py is not there")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Asked:
    """A request, as `wires.answer` reads it."""

    def __init__(self, path: str, body: bytes) -> None:
        self.path, self.body = path, body

    @property
    def json(self) -> Any:
        """The body, read as JSON; an empty one is an empty object."""
        return json.loads(self.body or b"{}")


class Wire:
    """The answering side of one connection, as `wires.answer` uses it."""

    def __init__(self, handler: BaseHTTPRequestHandler, asked: Asked) -> None:
        self._handler, self.asked = handler, asked
        self._next = time.monotonic()

    def head(self, status: int = 200, content_type: str = "application/json", **headers: str) -> None:
        """Status and headers of a stream; its first chunk follows 60 ms later."""
        self._handler.send_response(status)
        for name, value in {"content-type": content_type, "transfer-encoding": "chunked", **headers}.items():
            self._handler.send_header(name.replace("_", "-"), value)
        self._handler.end_headers()
        self._next = time.monotonic() + APART

    def chunk(self, data: bytes) -> None:
        """One chunk, when it is due."""
        time.sleep(max(0.0, self._next - time.monotonic()))
        self._next = time.monotonic() + APART
        self._handler.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def end(self) -> None:
        """The end of a stream."""
        self._handler.wfile.write(b"0\r\n\r\n")

    def json(self, value: Any, status: int = 200, **headers: str) -> None:
        """A whole answer, at once."""
        data = json.dumps(value).encode()
        self._handler.send_response(status)
        for name, text in {"content-type": "application/json", "content-length": str(len(data)), **headers}.items():
            self._handler.send_header(name.replace("_", "-"), text)
        self._handler.end_headers()
        self._handler.wfile.write(data)


def _refuse(wire: Wire, status: int) -> None:
    """Refuse as the provider of this path would."""
    path = wire.asked.path
    wait: dict[str, str] = {"retry_after": "7"} if status == 429 else {}
    if "/model/" in path:
        wire.json({"message": "not so"}, status, x_amzn_errortype=_AWS_ERRORS[status], **wait)
    elif path.endswith("/search"):
        wire.json({"detail": {"error": "not so"}}, status, **wait)
    elif path.endswith("/api/chat"):
        wire.json({"error": "not so"}, status, **wait)
    else:
        error = {"type": "invalid_request_error", "code": status, "message": "not so", "status": "REFUSED"}
        wire.json({"type": "error", "error": error}, status, **wait)


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Say nothing: callers leave as they like, and every recorder is judged by what the caller got."""


class LoopbackProvider:
    """Listens from the beginning until `stop`; `asked` counts requests by tool, client and case."""

    def __init__(self, project: Path) -> None:
        wires = load_wires(project)
        self.asked: Counter[tuple[str, str, str]] = Counter()
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            timeout = 60

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                _, tool, client, case, *_ = self.path.split("/")
                provider.asked[tool, client, case] += 1
                wire = Wire(self, Asked(self.path, body))
                if case != "ok":
                    _refuse(wire, int(case))
                elif self.path.endswith("/ten"):
                    wire.head(content_type="text/event-stream")
                    for chunk in CHUNKS:
                        wire.chunk(chunk)
                    wire.end()
                else:
                    wires.answer(wire)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class calls it so
                """Say nothing."""

        self._http = _Server(("127.0.0.1", 0), Handler)
        self.port = self._http.server_port
        self._held: socket.socket | None = None
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)
        self._thread.start()

    def url(self, tool: str, client: str, case: str) -> str:
        """The base URL below which requests count as this tool's, client's and case's."""
        return f"http://127.0.0.1:{self.port}/{tool}/{client}/{case}/v1"

    def stop(self) -> None:
        """Refuse connections from now on. The port stays taken, so that nobody else answers on it."""
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(5)
        self._held = socket.socket()
        self._held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._held.bind(("127.0.0.1", self.port))
