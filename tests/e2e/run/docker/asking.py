"""A stack in a container that asks a provider, with its tests, the provider, and what came of it."""

from __future__ import annotations

import http.server
import json
from pathlib import Path
from typing import TYPE_CHECKING

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
readiness: {path: /health, status: 200, timeout: 90}
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
        with opener.open(request, timeout=60) as answer:
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


def write(project: Project, name: str) -> str:
    """Make it the stack `name` of a project; what --stack-config takes."""
    folder = project.root / "stacks" / name
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in {"stack.yaml": STACK, "Dockerfile": DOCKERFILE, "toy_app.py": APP}.items():
        (folder / file).write_text(text)
    reference = Path(__file__).parents[4] / "stacks/reference/requirements.txt"
    lines = reference.read_text().splitlines(keepends=True)
    (folder / "requirements.txt").write_text("".join(line for line in lines if line.partition("==")[0] in NEEDS))
    (project.root / "stacks/setups.yaml").write_text(SETUPS)
    return f"docker:{name}"


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
