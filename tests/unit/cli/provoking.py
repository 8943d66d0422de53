"""Ways to bring each class of expected errors about, from the command line or in Python."""

from __future__ import annotations

import asyncio
import io
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import IO, Any, cast

import pytest
from tests.unit.recordings.conftest import SUITES, Book, Said

import stackproof
from stackproof import catalog, console, options, plan, trace
from stackproof.cli import main as cli
from stackproof.errors import ExitCode, StackproofError
from stackproof.faults import grammar
from stackproof.plugin import faulting
from stackproof.stack import engine, seen, start
from stackproof.trace import ModelEvent, ModelRequest, locking

_SHOW = console.show_error

TEST = "tests/integration/base/test_it.py"
PROJECT = {
    "tests/suites.yaml": SUITES.replace("ollama", "own"),
    TEST: "def test_a(): pass\n",
    "tests/integration/search/test_it.py": "def test_a(): pass\n",
    "stacks/setups.yaml": "own: {description: d, providers: {own: {prefixes: ['http://127.0.0.1:9/v1']}}}\n",
    "stacks/desk/stack.yaml": "{description: d, modes: [server], command: [no-such-program], under_exec: false}\n",
}
ONE, TWO = f"{TEST}::test_a", f"{TEST}::test_b"
# Answers once, and ends then.
DYING = """
import http.server, os, sys
class Once(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()
        self.wfile.flush()
        if self.path == "/end":
            os._exit(3)
    def log_message(self, *_): pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Once).serve_forever()
"""


@dataclass(kw_only=True)
class Here:
    """A project, and what was said in it."""

    root: Path
    monkeypatch: pytest.MonkeyPatch
    said: str = ""
    kind: str = ""  # name of the class of the error that ended the command, or a cell

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def command(self, *argv: str, **environ: str) -> int:
        """The exit code; what goes to standard error is kept, and what a run prints of its cells too."""
        out, err = io.StringIO(), io.StringIO()
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        with self.monkeypatch.context() as patched:
            patched.setattr(sys, "stdout", out)
            patched.setattr(sys, "stderr", err)
            patched.setattr(console, "show_error", self._show)
            code = cli.main(argv, environ={**kept, **environ}, project=self.root)
        self.said = err.getvalue() + out.getvalue()
        for path in self.root.glob(".stackproof/runs/*/cells/*/outcome.json"):
            self.kind = json.loads(path.read_text(encoding="utf-8"))["error"]["kind"]
        return code

    def _show(self, error: StackproofError, *, stream: IO[str] | None = None) -> None:
        self.kind = type(error).__name__
        _SHOW(error, stream=stream)

    def trace(self, *asked: str, instructions: str | None = None) -> Path:
        """A trace of these questions."""
        path = self.root / "talk.jsonl"
        client = trace.RecordingModelClient(_Model(), path)
        for text in asked:
            _ask(client, text, instructions)
        return path

    def book(self) -> Book:
        self.write(PROJECT)
        return Book(root=self.root, say=lambda: Said(code=0, out="", err=""))


class _Model:
    async def stream(self, request: ModelRequest, cancel: trace.Cancellation) -> AsyncIterator[ModelEvent]:
        del request
        yield trace.TextDelta(text="It rains.")
        cancel.check()
        yield trace.Completed(usage={})


def _ask(client: trace.ModelClient, text: object, instructions: str | None = None, *, cancelled: bool = False) -> None:
    async def listen() -> None:
        token = trace.CancelToken()
        if cancelled:
            token.cancel()
        item = cast("trace.Item", {"role": "user", "content": text})
        async for _ in client.stream(ModelRequest(instructions=instructions, history=(item,)), token):
            pass

    asyncio.run(listen())


Provoked = Callable[[Here], "int | None"]
"""Runs a command and returns its exit code, or raises an expected error."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """How a class of errors is provoked, what it ends with, and words of what is said."""

    by: Provoked
    code: ExitCode
    says: tuple[str, ...]


def command(*argv: str, **environ: str) -> Provoked:
    def run(here: Here) -> int:
        here.write(PROJECT)
        return here.command(*argv, **environ)

    return run


def lacking_program(here: Here) -> int:
    here.write(PROJECT)
    prepare = "prepare: {command: [nonesuch, build], files: [in.txt], needs: {nonesuch: '20'}}"
    text = f"{{description: d, modes: [server], command: [python, x.py], {prepare}}}\n"
    here.write({"stacks/desk/stack.yaml": text, "stacks/desk/in.txt": ""})
    return here.command("run")


def died(here: Here) -> None:
    here.write(PROJECT)
    text = "{description: d, modes: [server], command: [python, server.py, '{port}'], under_exec: false, "
    text += "readiness: {path: /}}\n"
    here.write({"stacks/desk/stack.yaml": text, "stacks/desk/server.py": DYING})
    (cell,) = plan.make(
        options.resolve({}, {}, here.root), catalog.load(here.root), here.root, "000000", caller={}
    ).cells
    environ = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    with start.start(cell=cell, environment=environ, cell_dir=here.root, timeout=120.0, port=None) as handle:
        host, _, port = handle.base_url.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port)), timeout=120) as wire:
            wire.sendall(b"GET /end HTTP/1.0\r\n\r\n")
            while wire.recv(4096):
                pass
        assert handle.ended is not None
        while handle.ended() is None:
            pass


def not_an_object(here: Here) -> int:
    here.write({**PROJECT, "recordings": ""})
    return here.command("run", "--inference-mode", "record")


def without_times(here: Here) -> int:
    here.write({".stackproof/runs/x/y": ""})
    return here.command("timings")


def no_cell(here: Here) -> int:
    policy = "version: 1\ncells: [{suite: base, setup: own, stack: 'server:desk'}]\n"
    here.write({**PROJECT, "ci/release.yaml": policy, ".stackproof/runs/aaaaaa/manifest.json": "{}"})
    return here.command("policy", "update")


def bad_patch(here: Here) -> int:
    here.write({**PROJECT, "x.patch": "diff\n", "recordings/own/x.json": "{}"})
    for words in (
        ("init", "-q"),
        ("add", "."),
        ("-c", "user.name=n", "-c", "user.email=e@example.org", "commit", "-qm", "x"),
    ):
        subprocess.run(["git", *words], cwd=here.root, check=True, capture_output=True, timeout=120)
    return here.command("recordings", "apply", "x.patch")


def collision(here: Here) -> int:
    book = here.book()
    book.record(ONE, {"model": "m"}, setup="own")
    book.record(TWO, {"model": "m"}, setup="own")
    for path in (here.root / "recordings").rglob("*.json"):
        text = path.read_text(encoding="utf-8")
        if TWO in text:
            path.write_text(text.replace('"answer": 1', '"answer": 2'), encoding="utf-8")
    return here.command("recordings", "rename", ONE, TWO)


def never_met(here: Here) -> None:
    del here
    faults = [grammar.parse("cut:3").to_data()]
    brain: Any = SimpleNamespace(
        settings=SimpleNamespace(faults=faults), ledger=SimpleNamespace(read=lambda _: ([], 0))
    )
    error = faulting.never_met(brain, 2)
    assert error is not None
    raise error


@contextmanager
def _engine() -> Iterator[str]:
    """What answers as a Docker engine whose builds fail."""

    class Answer(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if "/images/" in self.path:
                self._say(b'{"message": "the image store is broken"}', status=500)
                return
            self._say(b'{"ApiVersion": "1.47", "Version": "27.3.1"}')

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            self._say(b'{"stream": "Step 2/2 : RUN make"}\n{"error": "make: not found"}\n', chunked=True)

        def _say(self, body: bytes, *, chunked: bool = False, status: int = 200) -> None:
            self.send_response(status)
            self.send_header("content-type", "application/json")
            length = ("transfer-encoding", "chunked") if chunked else ("content-length", str(len(body)))
            self.send_header(*length)
            self.end_headers()
            self.wfile.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if chunked else body)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield f"tcp://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


def engine_refuses(here: Here) -> None:
    del here
    with _engine() as address:
        found = engine.connect({"DOCKER_HOST": address})
        try:
            found.image("no/such")
        finally:
            found.close()


def build_fails(here: Here) -> None:
    del here
    with _engine() as address:
        found = engine.connect({"DOCKER_HOST": address})
        try:
            list(found.build(io.BytesIO(b""), tag="desk:1", arguments={}, labels={}))
        finally:
            found.close()


def not_seen(here: Here) -> None:
    where: Any = SimpleNamespace(sharing=SimpleNamespace(proof=True), engine=SimpleNamespace(get=lambda *_: None))
    require = seen.required(where, here.root)
    assert require is not None
    require("a container")


def mismatch(here: Here) -> None:
    _ask(trace.ReplayModelClient(here.trace("Oslo?")), "Rome?")


def exhausted(here: Here) -> None:
    client = trace.ReplayModelClient(here.trace("Oslo?"))
    _ask(client, "Oslo?")
    _ask(client, "Oslo?")


def left_over(here: Here) -> None:
    trace.ReplayModelClient(here.trace("Oslo?", "Rome?")).finish()


def partial(here: Here) -> None:
    path = here.root / "talk.jsonl"
    client = trace.RecordingModelClient(_Breaking(), path, partial=True)
    with pytest.raises(OSError, match="gone"):
        _ask(client, "Oslo?")
    _ask(trace.ReplayModelClient(path), "Oslo?")


class _Breaking:
    async def stream(self, request: ModelRequest, cancel: trace.Cancellation) -> AsyncIterator[ModelEvent]:
        del request, cancel
        yield trace.TextDelta(text="It ")
        raise OSError("gone")


def damaged(here: Here) -> None:
    path = here.trace("Oslo?")
    path.write_text(path.read_text() + "<<<<<<< HEAD\n" + path.read_text().splitlines()[-1] + "\n")
    trace.ReplayModelClient(path)


def other_event(here: Here) -> None:
    path = here.trace("Oslo?")
    path.write_text(path.read_text().replace("text_delta", "video_delta"))
    trace.ReplayModelClient(path)


def newer(here: Here) -> int:
    path = here.trace("Oslo?")
    path.write_text(path.read_text().replace('"version":1', '"version":9').replace('"version":2', '"version":9'))
    return here.command("trace", "show", str(path))


def busy(here: Here) -> None:
    with locking.writing(here.root / "talk.jsonl"), locking.reading(here.root / "talk.jsonl", patience=0.0):
        pass


def without_zstandard(here: Here) -> int:
    here.monkeypatch.setitem(sys.modules, "zstandard", None)
    here.write({"talk.jsonl.zst": "x"})
    return here.command("trace", "show", "talk.jsonl.zst")


def unfit(here: Here) -> None:
    _ask(trace.RecordingModelClient(_Model(), here.root / "talk.jsonl"), float("nan"))


def cancelled(here: Here) -> None:
    _ask(trace.ReplayModelClient(here.trace("Oslo?")), "Oslo?", cancelled=True)


def full_disk(here: Here) -> int:
    here.write(PROJECT)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", str(here.root / ".stackproof"))

    here.monkeypatch.setattr("stackproof.run.rundir.new_run_id", full)
    return here.command("run")


def half_installed(here: Here) -> int:
    here.monkeypatch.setattr(stackproof, "__file__", str(here.root / "stackproof" / "__init__.py"))
    return here.command("setups")
