"""A small project with a small stack of its own, a provider on the loopback interface, and real pytest runs in it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

LONGEST = 120.0  # seconds for what takes a few on an idle machine
_SETUPS = """
probe:
  description: A provider that a test has started
  env: {PROBE_URL: "http://127.0.0.1:9/v1"}
  secrets: [PROBE_API_KEY]
  providers: {probe: {variable: PROBE_URL}}
  models: {text: "probe/m"}
"""
_STACK = """
description: A gateway of forty lines
modes: [library, server]
python_path: ["."]
app: tiny_app:create_app
command: ["{python}", "-m", "uvicorn", "--factory", "tiny_app:create_app", "--host", "{host}", "--port", "{port}",
          "--no-access-log"]
readiness: {path: /v1/health, status: 200, timeout: 120}
"""
_SUITES = """
root: tests/integration
suites:
  base: {description: All there is, roots: [tests/integration], default_setup: probe}
"""
_APP = """
import asyncio
import contextlib
import os
import httpx2
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route


def url():
    return os.environ["PROBE_URL"]


def client():
    return httpx2.AsyncClient(
        timeout=60, trust_env=False, verify=False, headers={"authorization": os.environ["PROBE_API_KEY"]}
    )


async def health(request):
    return JSONResponse({"status": "OK"})


async def ask(request):
    body = await request.json()
    async with client() as http:
        answer = await http.post(url() + "/answers", json=body)
    return JSONResponse(answer.json(), status_code=answer.status_code)


async def swallow(request):
    async with client() as http:
        with contextlib.suppress(Exception):
            (await http.post(url() + "/answers", json=await request.json())).raise_for_status()
    return JSONResponse({"text": "all is well"})


async def stream(request):
    body = {**await request.json(), "stream": True}

    async def events():
        async with client() as http, http.stream("POST", url() + "/answers", json=body) as answer:
            async for piece in answer.aiter_bytes():
                yield piece

    return StreamingResponse(events(), media_type="text/event-stream")


async def later(request):
    body = await request.json()

    async def call():
        async with client() as http:
            await http.post(url() + "/answers", json=body)

    return JSONResponse({"text": "later"}, background=BackgroundTask(call))


async def work(jobs):
    while True:
        body, done = await jobs.get()
        async with client() as http:
            answer = await http.post(url() + "/answers", json=body)
        done.set_result((answer.status_code, answer.json()))


async def queued(request):
    done = asyncio.get_running_loop().create_future()
    request.app.state.jobs.put_nowait((await request.json(), done))
    code, answer = await done
    return JSONResponse(answer, status_code=code)


def create_app():
    @contextlib.asynccontextmanager
    async def lifespan(app):
        if os.environ.get("TINY_CALLS_AT_START"):
            async with client() as http:
                (await http.post(url() + "/answers", json={"say": "at the start"})).raise_for_status()
        app.state.jobs = asyncio.Queue()
        worker = asyncio.create_task(work(app.state.jobs))
        yield
        worker.cancel()
        if os.environ.get("TINY_CALLS_AT_END"):
            async with client() as http:
                for say in ("at the end", "at the start"):
                    (await http.post(url() + "/answers", json={"say": say})).raise_for_status()

    paths = {"health": health}
    routes = [Route("/v1/health", health)]
    routes += [Route(f"/v1/{view.__name__}", view, methods=["POST"]) for view in (ask, swallow, stream, later, queued)]
    return Starlette(routes=routes, lifespan=lifespan)
"""


@dataclass
class Probe:
    """The provider: counts what it is asked and numbers its answers."""

    port: int
    asked: list[dict[str, Any]] = field(default_factory=list)
    status: int = 200
    usage: dict[str, int] | None = None  # what each answer says it has used
    hold: threading.Event | None = None
    held: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        """Its base URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def said(self) -> list[str]:
        """What was asked, in order."""
        return [str(body.get("say")) for body in self.asked]


@pytest.fixture
def probe() -> Iterator[Probe]:
    """A provider that listens until the test is over."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            with lock:
                told.asked.append(body)
                number = len(told.asked)
            if told.hold is not None and body.get("say") == "hold":
                told.held.set()
                told.hold.wait(LONGEST)
            if body.get("stream"):
                self._stream(number)
            else:
                text = f"answer {number} to {body.get('say')}"
                answer = {"object": "chat.completion", "id": f"c-{number}", "created": number, "text": text}
                answer |= {} if told.usage is None else {"usage": told.usage}
                self._send(json.dumps(answer if told.status == 200 else {"error": "no"}).encode(), "application/json")

        def _send(self, raw: bytes, content_type: str) -> None:
            self.send_response(told.status)
            self.send_header("content-type", content_type)
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def _stream(self, number: int) -> None:
            events = [f"data: {json.dumps({'n': n, 'of': number})}\n\n" for n in range(3)]
            self._send("".join([*events, "data: [DONE]\n\n"]).encode(), "text/event-stream")

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            pass  # callers leave; that is theirs to do

    with Server(("127.0.0.1", 0), Handler) as server:
        told = Probe(port=int(server.server_address[1]))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield told
        if told.hold is not None:
            told.hold.set()
        server.shutdown()
        thread.join(LONGEST)


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """A pytest that is over."""

    code: int
    out: str

    @property
    def counts(self) -> str:
        """pytest's last line, without its frame and time."""
        lines = [line for line in self.out.splitlines() if " in " in line and ("passed" in line or "failed" in line)]
        return lines[-1].strip("= ").partition(" in ")[0] if lines else ""

    def has(self, *texts: str) -> bool:
        """Whether all texts were printed; prints everything where one was not."""
        missing = [text for text in texts if text not in self.out]
        if missing:
            print(f"missing {missing} in:\n{self.out}")
        return not missing


# Plugins that a test has no use for cost more than the test: each with the word that asks for it.
_PLUGINS = {
    "anyio": "-panyio",
    "asyncio": "-pasyncio",
    "hypothesispytest": None,
    "langsmith_plugin": None,
    "rerunfailures": "--reruns",
    "xdist": "-n",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """A project in a folder of its own."""

    root: Path
    probe: Probe

    def test(self, source: str, name: str = "test_it.py") -> None:
        """Write a file of integration tests. `ask` asks the stack, which asks the provider."""
        path = self.root / "tests/integration" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_HEAD + source)

    def environment(self, mode: str, stack: str, **more: str) -> dict[str, str]:
        """Variables of a shell in which somebody calls pytest."""
        outer = ("STACKPROOF_", "PYTEST_", "PROBE_", "TINY_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(outer) and name != "CI"}
        ours = {
            "STACKPROOF_INFERENCE_MODE": mode,
            "STACKPROOF_STACK_CONFIG": f"{stack}:tiny",
            "PROBE_URL": self.probe.url,
            "PROBE_API_KEY": "a-key-of-the-probe",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        return {**kept, **ours, **more}

    def command(self, *arguments: str) -> list[str]:
        """The command line of a pytest."""
        unused = [f"-pno:{name}" for name, option in _PLUGINS.items() if option not in arguments]
        arguments = arguments or ("tests/integration",)
        return [sys.executable, "-m", "pytest", "-pno:cacheprovider", *unused, *arguments]

    def pytest(self, mode: str, *arguments: str, stack: str = "library", **variables: str) -> Ended:
        """Run pytest in the project."""
        return self._ended(self.command(*arguments), self.environment(mode, stack, **variables))

    def _ended(self, command: list[str], environment: dict[str, str]) -> Ended:
        ended = subprocess.run(
            command, cwd=self.root, env=environment, capture_output=True, text=True, timeout=2 * LONGEST, check=False
        )
        return Ended(code=ended.returncode, out=ended.stdout + ended.stderr)

    def interrupted(self, mode: str, *, stack: str) -> Ended:
        """Run pytest, and press Ctrl-C while the provider keeps a test waiting that says "hold"."""
        self.probe.hold = threading.Event()
        running = subprocess.Popen(
            self.command(),
            cwd=self.root,
            env=self.environment(mode, stack),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            assert self.probe.held.wait(LONGEST)
            os.killpg(running.pid, signal.SIGINT)
            out, _ = running.communicate(timeout=LONGEST)
        finally:
            running.kill()
            running.wait(LONGEST)
        return Ended(code=running.returncode, out=out)

    def run(self, mode: str, *options: str, stack: str, **variables: str) -> Ended:
        """Run the project's suite by the command."""
        command = [sys.executable, "-m", "stackproof", "run", "--suite", "base", "--setup", "probe"]
        unused = " ".join(f"-pno:{name}" for name in _PLUGINS)
        return self._ended(
            [*command, "--inference-mode", mode, "--stack-config", f"{stack}:tiny", "--seal", "never", *options],
            self.environment(mode, stack, PYTEST_ADDOPTS=unused, **variables),
        )

    @property
    def cell(self) -> Path:
        """The folder of the cell that ran last."""
        return max(self.root.glob(".stackproof/runs/*/cells/*"), key=lambda path: path.stat().st_mtime_ns)

    def recordings(self) -> dict[str, Any]:
        """Scope and question → answer text, of everything that was kept."""
        kept = {}
        for path in self.files():
            data = json.loads(path.read_text())
            number = path.stem.split("-")[2:] or [""]
            body = data["response"].get("body") or {}
            key = f"{data['scope'].removeprefix('tests/integration/')} {data['request']['body']['json']['say']}"
            kept[" ".join(filter(None, [key, *number]))] = (body.get("json") or {}).get("text")
        return kept

    def files(self) -> list[Path]:
        """Files below recordings/ that are no folders."""
        return sorted(path for path in (self.root / "recordings").rglob("*") if path.is_file())

    def contents(self) -> dict[Path, tuple[bytes, int]]:
        """Each file's content and time, to see that nothing was touched."""
        return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in self.files()}


_HEAD = """
import pytest


@pytest.fixture(scope="session")
def ask(http_client):
    def send(say, to="ask"):
        return http_client.post(f"/v1/{to}", json={"say": say})
    return send
"""


@pytest.fixture
def project(tmp_path: Path, probe: Probe) -> Project:
    """A fresh project."""
    for name, text in (
        ("stacks/setups.yaml", _SETUPS),
        ("stacks/tiny/stack.yaml", _STACK),
        ("stacks/tiny/tiny_app.py", _APP),
        ("tests/suites.yaml", _SUITES),
        ("pytest.ini", "[pytest]\n"),
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Project(root=tmp_path, probe=probe)


@pytest.fixture(autouse=True)
def nothing_stays(tmp_path: Path) -> Iterator[None]:
    """No process that was started in the test's folder outlives it (but for a moment, while it exits)."""
    yield
    deadline = time.monotonic() + 60
    while (left := _running_in(tmp_path)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == []


def _running_in(folder: Path) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink().is_relative_to(folder):
                found.append((process / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found
