"""Recordings of a stack on an engine that shares nothing: made, kept, replayed and missed as on this machine."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stackproof.stack import forwarder, ports, sharing
from stackproof.stack.engine import Engine

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project

APP = """
import asyncio, os, httpx

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while (await receive())["type"] != "lifespan.shutdown":
            await send({"type": "lifespan.startup.complete"})
        await send({"type": "lifespan.shutdown.complete"})
        return
    status, body = 200, b"ok"
    if scope["path"].startswith("/ask/"):
        question = scope["path"].rpartition("/")[2]
        async with httpx.AsyncClient() as client:
            try:
                said = await client.post(os.environ["TOY_URL"] + "/chat/completions", json={"question": question})
                body = said.content
            except Exception as error:
                status, body = 502, type(error).__name__.encode()
    await send({"type": "http.response.start", "status": status, "headers": []})
    await send({"type": "http.response.body", "body": body})
    if scope["path"] == "/ask/late":
        async with httpx.AsyncClient() as client:  # what it put off until its answer was out
            await asyncio.sleep(0.3)
            await client.post(os.environ["TOY_URL"] + "/chat/completions", json={"question": "put off"})
"""
STACK = """
description: an application that asks a provider
modes: [docker]
command: ["{python}", "-m", "uvicorn", "toy_app:app", "--host", "{host}", "--port", "{port}", "--no-access-log"]
python_path: ["."]
readiness: {path: /health, status: 200, timeout: 30}
docker: {dockerfile: Dockerfile, requirements: requirements.txt, context: [toy_app.py], python: /venv/bin/python}
"""
DOCKERFILE = """
ARG BASE
FROM ${BASE}
COPY wheels /wheels
COPY requirements.txt /wheels/
RUN python3 -m venv /venv && /venv/bin/pip install --no-index --find-links=/wheels -r /wheels/requirements.txt
COPY stack /stack
"""
NEEDS = ("anyio", "certifi", "click", "h11", "httpcore", "httpx", "idna", "sniffio", "typing-extensions", "uvicorn")
SETUPS = """
local:
  description: a provider on this machine
  env: {TOY_URL: "http://127.0.0.1:9/v1"}
  providers:
    toy: {variable: TOY_URL}
"""
TESTS = """
import os, urllib.error, urllib.request
import pytest
from stackproof.recorder import scope

def ask(question):
    header = scope.to_header(scope.current(), None, os.environ["STACKPROOF_RUN_DIR"])
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    url = os.environ["STACKPROOF_API_BASE_URL"] + "/ask/" + question
    request = urllib.request.Request(url, headers={"X-Provider-Data": header})
    try:
        with opener.open(request, timeout=20) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.read().decode()

def test_plain():
    assert "plain" in ask("plain")

def test_twice():
    assert "again" in ask("again") and "again" in ask("again")

@pytest.mark.parametrize("name", ["x" * 3000], ids=["long" * 750])
def test_with_a_name_that_no_header_holds(name):
    assert "long" in ask("long")

def test_that_puts_something_off():
    assert "late" in ask("late")

def test_swallows():
    ask("swallowed")
"""
FAILS = """
def test_fails():
    assert "fails" in ask("fails")
    assert False
"""


class Provider(http.server.BaseHTTPRequestHandler):
    """Says what it was asked."""

    def do_POST(self) -> None:
        """The question, as an answer."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps({"answer": asked["question"]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@pytest.fixture
def provider(project: Project) -> Iterator[None]:
    """A provider on this machine, for runs that record."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        project.environ["TOY_URL"] = f"http://127.0.0.1:{server.server_port}/v1"
        yield
        server.shutdown()
        thread.join(timeout=10)


@pytest.fixture
def toy(project: Project, contained: Callable[..., str]) -> str:
    """A stack that asks a provider."""
    contained("distant")
    folder = project.root / "stacks/distant"
    for name, text in {"stack.yaml": STACK, "Dockerfile": DOCKERFILE, "toy_app.py": APP}.items():
        (folder / name).write_text(text)
    reference = Path(__file__).parents[4] / "stacks/reference/requirements.txt"
    lines = reference.read_text().splitlines(keepends=True)
    (folder / "requirements.txt").write_text("".join(line for line in lines if line.partition("==")[0] in NEEDS))
    (project.root / "stacks/setups.yaml").write_text(SETUPS)
    return "docker:distant"


@pytest.fixture
def far(project: Project, engine: Engine) -> Iterator[Callable[[bool], None]]:
    """Whether the project's runs find the engine far away, or here."""
    assert engine.endpoint.socket is not None
    port = ports.free_port()
    with forwarder.forwarding(f"127.0.0.1:{port}", str(engine.endpoint.socket)):

        def be(yes: bool) -> None:
            project.environ["DOCKER_HOST"] = f"tcp://127.0.0.1:{port}" if yes else engine.endpoint.url
            project.environ[sharing.VARIABLE] = "copy" if yes else ""

        yield be


def outcomes(project: Project) -> dict[str, str]:
    """Outcome of each test of the newest run, by the beginning of its function's name."""
    lines = (project.cell_dir() / "tests.jsonl").read_text().splitlines()
    events = [event for event in map(json.loads, lines) if event["event"] == "test"]
    return {event["nodeid"].partition("::")[2].partition("[")[0]: event["outcome"] for event in events}


def files(project: Project) -> dict[str, str]:
    """All recordings: name and content, without when they were made."""
    found = {}
    for path in sorted((project.root / "recordings").rglob("*.json")):
        content = json.loads(path.read_text())
        content.pop("recorded_at", None)
        found[str(path.relative_to(project.root))] = json.dumps(content, sort_keys=True)
    return found


@pytest.mark.usefixtures("provider")
def test_what_is_recorded_far_away_is_what_is_recorded_here_and_replays(
    project: Project, toy: str, far: Callable[[bool], None]
) -> None:
    project.tests(TESTS + FAILS)
    far(True)
    done = project.run("--stack-config", toy, "--inference-mode", "record")
    assert done.code == 1, done.output
    assert {name for name, outcome in outcomes(project).items() if outcome != "passed"} == {"test_fails"}
    recorded = files(project)
    # Of the test that failed nothing is kept; what a request put off belongs to its test.
    assert len(recorded) == 7, recorded.keys()
    assert not any("fails" in content for content in recorded.values())
    far(False)
    again = project.run("--stack-config", toy, "--inference-mode", "record")
    assert again.code == 1, again.output
    assert files(project) == recorded
    project.tests(TESTS)
    far(True)
    replayed = project.run("--stack-config", toy)
    assert replayed.code == 0, replayed.output
    assert "7 replayed, 0 recorded, 0 missed, 0 unused; sealed" in replayed.output


def test_a_call_without_a_recording_fails_its_own_test_and_nothing_is_green(
    project: Project, toy: str, far: Callable[[bool], None]
) -> None:
    project.tests(TESTS)
    far(True)
    done = project.run("--stack-config", toy)
    assert done.code == 6, done.output
    # Also the one that takes the error for an answer.
    assert set(outcomes(project).values()) <= {"failed", "error"}
    assert "had no recording" in done.output
    assert "test_swallows" in done.output
