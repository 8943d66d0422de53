"""Servers of every kind under `stackproof exec`, around small applications that ask a provider of the test's own."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest

from stackproof.recorder import recording, scope
from stackproof.recorder.ledger import Ledger
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope
from stackproof.recorder.settings import VARIABLE, Provider, Settings
from stackproof.recorder.store import Store
from stackproof.stack import ports

APPS = Path(__file__).with_name("apps")
LONGEST = 120.0
# Nothing here is TLS; by default each client would read all the authorities there are.
PLAIN: Mapping[str, Any] = {"trust_env": False, "verify": False}


@dataclass
class ChatProvider:
    """Answers chat completions and numbers its answers. A message "long" makes a stream of `parts`, 50 ms each."""

    port: int
    parts: int = 120
    asked: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Its base URL."""
        return f"http://127.0.0.1:{self.port}/v1"


@pytest.fixture
def provider() -> Iterator[ChatProvider]:
    """A provider that listens until the test is over."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            say = body["messages"][0]["content"]
            with lock:
                told.asked.append(say)
                number = len(told.asked)
            time.sleep(0.03)  # so that others have a share of the work
            answer = {"id": f"c{number}", "object": "chat.completion", "created": number, "model": "m"}
            if body.get("stream"):
                self._stream({**answer, "object": "chat.completion.chunk"}, number, say)
                return
            message = {"role": "assistant", "content": f"{number}: {say}"}
            choices = [{"index": 0, "finish_reason": "stop", "message": message}]
            raw = json.dumps({**answer, "choices": choices}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def _stream(self, answer: dict[str, Any], number: int, say: str) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            for part in range(told.parts if say == "long" else 3):
                choices = [{"index": 0, "delta": {"content": f"{number}.{part}"}, "finish_reason": None}]
                self.wfile.write(f"data: {json.dumps({**answer, 'choices': choices})}\n\n".encode())
                self.wfile.flush()
                time.sleep(0.05 if say == "long" else 0.01)
            self.wfile.write(b"data: [DONE]\n\n")
            self.close_connection = True

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            pass  # callers leave; that is theirs to do

    with Server(("127.0.0.1", 0), Handler) as server:
        told = ChatProvider(port=int(server.server_address[1]))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield told
        server.shutdown()
        thread.join(LONGEST)


@dataclass(frozen=True, kw_only=True, slots=True)
class Served:
    """A server that runs under the recorder."""

    url: str
    run_dir: Path
    store: Store
    ledger: Ledger
    log: Path
    folder: Path

    def get(self, way: str, say: str, whose: Scope | None, **headers: Any) -> httpx2.Response:
        """Ask the server, for a test or for nobody."""
        if whose is not None:
            headers["x-provider-data"] = scope.to_header(whose, headers.get("x-provider-data"), str(self.run_dir))
        return httpx2.get(f"{self.url}/{way}", params={"say": say}, headers=headers, timeout=LONGEST, **PLAIN)

    def at_once(self, jobs: Sequence[tuple[str, str, Scope | None]]) -> list[str]:
        """What these (way, say, whose) are answered when they are asked at the same time."""
        with ThreadPoolExecutor(len(jobs)) as pool:
            answers = list(pool.map(lambda job: self.get(*job), jobs))
        assert [answer.status_code for answer in answers] == [200] * len(jobs), self.log.read_text()
        return [_text(answer) for answer in answers]

    def leave_early(self, whose: Scope) -> None:
        """Take the first part of a long stream, and go."""
        headers = {"x-provider-data": scope.to_header(whose, None, str(self.run_dir))}
        address = {"url": f"{self.url}/stream", "params": {"say": "long"}, "headers": headers}
        with httpx2.Client(timeout=LONGEST, **PLAIN) as client, client.stream("GET", **address) as answer:  # type: ignore[arg-type]
            assert ".0" in next(answer.iter_lines())

    def lines(self, journal: str) -> list[dict[str, Any]]:
        """What the processes of the server wrote about their calls."""
        return self.ledger.read(journal)[0]

    def marks(self) -> dict[int, dict[str, Any]]:
        """The marks of its processes, by pid."""
        found = (json.loads(path.read_text()) for path in (self.run_dir / "marks").glob("*.json"))
        return {mark["pid"]: mark for mark in found}

    def kept(self, whose: Scope) -> list[dict[str, Any]]:
        """What has been recorded for a test."""
        return [content for path in self.store.staged(whose) if (content := recording.read(path)) is not None]

    def wait_until(self, reached: Callable[[], bool], seconds: float = LONGEST) -> None:
        """Wait for something that the server does in its own time."""
        deadline = time.monotonic() + seconds
        while not reached() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert reached(), self.log.read_text()

    def change(self, app: str, old: str, new: str) -> None:
        """Edit the application while it is served."""
        path = self.folder / app
        path.write_text(path.read_text().replace(old, new))


def _text(answer: httpx2.Response) -> str:
    body = answer.text
    return str(json.loads(body)["text"]) if body.startswith("{") else body


Serve = Callable[..., "contextlib.AbstractContextManager[Served]"]


@pytest.fixture
def serve(tmp_path: Path, provider: ChatProvider) -> Serve:
    """`with serve(mode, "-m", "uvicorn", "asgi_app:app", "--port", "{port}") as served`; the program is this Python."""
    folder = tmp_path / "app"
    shutil.copytree(APPS, folder, ignore=shutil.ignore_patterns("__pycache__"))

    @contextlib.contextmanager
    def run(mode: Mode, *command: str, environ: dict[str, str] | None = None) -> Iterator[Served]:
        run_dir = tmp_path / f"run-{mode.value}-{len(list(tmp_path.iterdir()))}"
        settings = Settings(
            mode=mode,
            recordings=str(tmp_path / "recordings"),
            setup="served",
            run_dir=str(run_dir),
            run_id="abcdef",
            providers=(Provider(name="chat", variable="LLM_URL", prefixes=(provider.url,)),),
            command="stackproof run",
        )
        port = ports.free_port()
        kept = {name: os.environ[name] for name in ("LANG", "TMPDIR", "PATH") if name in os.environ}
        kept["HOME"] = str(tmp_path)  # gunicorn leaves a socket there
        given = {VARIABLE: settings.to_json(), "LLM_URL": provider.url, "LLM_KEY": "a-key-of-nobody"}
        line = [part.format(port=port) for part in command]
        log = tmp_path / f"{run_dir.name}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "stackproof", "exec", "--", sys.executable, *line],
                cwd=folder,
                env={**kept, **given, **(environ or {})},
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        store = Store(settings.recordings, settings.setup, settings.run_dir, settings.integration_root)
        url = f"http://127.0.0.1:{port}"
        ledger = Ledger(str(run_dir))
        served = Served(url=url, run_dir=run_dir, store=store, ledger=ledger, log=log, folder=folder)
        try:
            _wait_ready(process, served)
            yield served
        finally:
            ledger.close()
            _end(process)

    return run


def _wait_ready(process: subprocess.Popen[bytes], served: Served) -> None:
    deadline = time.monotonic() + LONGEST
    while True:
        assert process.poll() is None, served.log.read_text()
        assert time.monotonic() < deadline, served.log.read_text()
        with contextlib.suppress(httpx2.HTTPError):
            headers = {"x-stackproof-probe": "1"}
            answer = httpx2.get(f"{served.url}/health", headers=headers, timeout=LONGEST, **PLAIN)
            if answer.status_code == 200:
                return
        time.sleep(0.05)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        pass
    finally:
        # Whatever it started is in its session.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(LONGEST)
