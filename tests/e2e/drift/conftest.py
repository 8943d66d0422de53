"""A copy of the suite `base` and its recordings, and a real provider whose answers a proxy changes on the way."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from stackproof.catalog.records import ServiceSpec
from stackproof.stack import service as services

ROOT = Path(__file__).parents[3]
Frames = list[str]
# Plugins of this environment that take longer to load than the tests run.
_QUICK = {"PYTEST_ADDOPTS": "-pno:langsmith_plugin -pno:hypothesispytest -pno:anyio -pno:asyncio -pno:recording"}
_SUITES = """
root: tests/integration
suites:
  base:
    description: What every stack must do
    roots: [tests/integration/base]
    default_setup: ollama
    rules: [{name: whole_floats, repeat: ordinal}]
"""


@dataclass(slots=True)
class Changes:
    """What the proxy makes of an answer: of one that is JSON, of the frames of a stream, of the head."""

    whole: Callable[[str, Any], Any] = lambda _, body: body
    frames: Callable[[str, Frames], Frames] = lambda _, frames: frames
    head: Callable[[str, int, str], tuple[int, str]] = lambda _, status, kind: (status, kind)
    asked: list[str] = field(default_factory=list)


class Proxy(ThreadingHTTPServer):
    """Hands every request on to the service, and its answer, changed, back."""

    daemon_threads = True

    def __init__(self, target: str, changes: Changes) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target, self.changes = urlsplit(target), changes

    @property
    def url(self) -> str:
        """Where it listens, with the path that the service's own address has."""
        return f"http://127.0.0.1:{self.server_address[1]}{self.target.path}"


class _Handler(BaseHTTPRequestHandler):
    server: Proxy

    def do_GET(self) -> None:
        self._pass_on()

    def do_POST(self) -> None:
        self._pass_on()

    def _pass_on(self) -> None:
        target, changes = self.server.target, self.server.changes
        changes.asked.append(f"{self.command} {self.path}")
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        connection = http.client.HTTPConnection(target.hostname or "", target.port, timeout=300)
        with contextlib.closing(connection):
            connection.request(self.command, self.path, body, {"content-type": "application/json"})
            answer = connection.getresponse()
            raw, status = answer.read(), answer.status
            kind = answer.headers.get("content-type", "")
        if kind.startswith("text/event-stream"):
            frames = [frame for frame in raw.decode().split("\n\n") if frame]
            raw = "".join(f"{frame}\n\n" for frame in changes.frames(self.path, frames)).encode()
        elif "json" in kind:
            raw = json.dumps(changes.whole(self.path, json.loads(raw))).encode()
        status, kind = changes.head(self.path, status, kind)
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: Any) -> None:
        """Nothing: the run has its own log."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """A command that has ended."""

    code: int
    out: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """The copy. `changes` may be replaced between two runs."""

    root: Path
    url: str
    proxy: Proxy

    def change(self, **changes: Any) -> None:
        """Have answers changed from now on."""
        self.proxy.changes = Changes(**changes)

    def stackproof(self, *words: str) -> Ended:
        """`stackproof …` in the project."""
        # Where the variable CI is set nothing is recorded.
        environ = {key: item for key, item in os.environ.items() if not key.startswith("STACKPROOF_") and key != "CI"}
        done = subprocess.run(
            [sys.executable, "-m", "stackproof", *words],
            cwd=self.root,
            env={**environ, **_QUICK, "OLLAMA_URL": self.url, "NO_COLOR": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=540,
            check=False,
        )
        return Ended(code=done.returncode, out=done.stdout)

    def verify(self, pattern: str, *words: str, stack: str = "library:reference") -> Ended:
        """A run that asks the provider again."""
        chosen = ("--suite", "base", "--setup", "ollama", "--stack-config", stack, "--inference-mode", "verify")
        return self.stackproof("run", *chosen, "--pattern", pattern, *words)

    @property
    def drift(self) -> dict[str, Any]:
        """What the newest run found."""
        newest = max(self.root.glob(".stackproof/runs/*/cells/*/drift.json"), key=lambda path: path.stat().st_mtime_ns)
        found: dict[str, Any] = json.loads(newest.read_text())
        return found


@pytest.fixture(scope="session")
def provider(llama_cpp: ServiceSpec, tmp_path_factory: pytest.TempPathFactory) -> Iterator[services.RunningService]:
    """Real llama.cpp."""
    folder = tmp_path_factory.mktemp("llama-cpp")
    with services.run(
        llama_cpp, environment=dict(os.environ), cell_dir=folder, run_id="drifts", say=print, check=lambda: None
    ) as running:
        yield running


@pytest.fixture
def project(provider: services.RunningService, tmp_path: Path) -> Iterator[Project]:
    """The suite `base` and what is recorded of it, as it is in this project."""
    root = tmp_path / "project"
    (root / "tests/integration").mkdir(parents=True)
    # Other tests run these meanwhile, and leave bytecode there that comes and goes.
    no_bytecode = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "tests/integration/base", root / "tests/integration/base", ignore=no_bytecode)
    (root / "tests/suites.yaml").write_text(_SUITES)
    shutil.copytree(ROOT / "recordings/ollama/base", root / "recordings/ollama/base")
    shutil.copytree(ROOT / "recordings/ollama/common", root / "recordings/ollama/common")
    proxy = Proxy(provider.url, Changes())
    thread = threading.Thread(target=proxy.serve_forever, daemon=True)
    thread.start()
    try:
        yield Project(root=root, url=proxy.url, proxy=proxy)
    finally:
        proxy.shutdown()
        proxy.server_close()
        thread.join(60)
