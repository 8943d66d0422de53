"""A project that may be released: everything that a policy can ask for, recorded once and found in order."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

FILES = {
    ".gitignore": ".stackproof/\n__pycache__/\n",
    "pyproject.toml": """\
[tool.stackproof]
suite = "desk"
stack_config = "server:desk"

[tool.mypy]
strict = true
""",
    "desk/__init__.py": "",
    "desk/app.py": """\
import os

import httpx2
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route


async def health(_: Request) -> Response:
    return JSONResponse({})


async def ask(request: Request) -> Response:
    question = (await request.json())["question"]
    async with httpx2.AsyncClient(base_url=os.environ["DESK_URL"], timeout=60) as client:
        answer = await client.post("/answers", json={"question": question})
    return JSONResponse({"answer": answer.json()["text"]})


def create_app() -> Starlette:
    return Starlette(routes=[Route("/health", health), Route("/ask", ask, methods=["POST"])])
""",
    "stacks/desk/stack.yaml": """\
description: a desk that asks a provider
modes: [library, server]
python_path: ["../.."]
app: desk.app:create_app
command: ["{python}", "-m", "uvicorn", "--factory", "desk.app:create_app", "--host", "{host}", "--port", "{port}"]
readiness: {path: /health, timeout: 120}
benchmark:
  command: ["{python}", "{folder}/bench.py", "{result}"]
""",
    "stacks/desk/bench.py": """\
import json, sys, time

def seconds(numbers):
    began = time.perf_counter()
    sum(range(numbers))
    return time.perf_counter() - began

pairs = [(seconds(60_000), seconds(50_000)) for _ in range(21)][1:]
line = {"name": "turns", "turns": [turn for turn, _ in pairs], "floor": [floor for _, floor in pairs]}
json.dump({"lines": [line]}, open(sys.argv[1], "w"))
""",
    "stacks/setups.yaml": """\
local:
  description: a provider on this machine
  env: {DESK_URL: "http://127.0.0.1:9/v1"}
  providers:
    answers: {variable: DESK_URL}
""",
    "tests/suites.yaml": """\
suites:
  desk: {description: what must work, roots: [tests/integration/desk], default_setup: local}
""",
    # Where a meeting is called, tests wait until another cell has come to its tests, too.
    "tests/integration/desk/conftest.py": """\
import os
import pathlib
import time
import uuid

import pytest


@pytest.fixture(scope="session", autouse=True)
def others():
    if "DESK_MEETING" in os.environ:
        place, deadline = pathlib.Path(os.environ["DESK_MEETING"]), time.monotonic() + 120
        (place / uuid.uuid4().hex).touch()
        while len(list(place.iterdir())) < 2:
            assert time.monotonic() < deadline, "nobody else came"
            time.sleep(0.02)
""",
    "tests/integration/desk/test_desk.py": """\
import pytest


@pytest.mark.parametrize("question", ["how much?", "how long?"])
def test_a_question_gets_an_answer(http_client, question):
    answer = http_client.post("/ask", json={"question": question})
    assert answer.status_code == 200
    assert question in answer.json()["answer"]


def test_the_desk_is_open(http_client):
    assert http_client.get("/health").status_code == 200
""",
    "tests/faults/claims.yaml": """\
version: 1
claims:
  closed-desk:
    invariant: a desk that is closed answers nothing
    fault: the desk closes before the question
    events: [closed, refused]
    residue: {pending: [], terminal: refused}
    excludes: [a desk that closes while it answers]
""",
    "tests/faults/test_claims.py": """\
import pytest


@pytest.mark.claim("closed-desk")
def test_a_closed_desk(claim):
    events, pending = [], ["how much?"]
    events.append("closed")
    while pending:
        pending.pop()
        events.append("refused")
    claim.observed(events=events, residue={"pending": pending, "terminal": events[-1]})
""",
    "ci/release.yaml": """\
version: 1
cells:
  - {suite: desk, setup: local, stack: "library:desk"}
  - {suite: desk, setup: local, stack: "server:desk"}
typecheck: {paths: [desk]}
benchmarks:
  "desk:turns": {gate: 10.0, samples: 20}
claims: {file: tests/faults/claims.yaml, tests: [tests/faults]}
""",
}
VERIFY = ("-m", "stackproof", "verify-release")
WEIGH = ("-m", "stackproof", "verdict")


@dataclass(frozen=True, kw_only=True, slots=True)
class Weighed:
    """What a command ended with: exit code, the verdict's JSON (empty where there is none), everything printed."""

    code: int
    verdict: dict[str, object]
    said: str

    def line(self, rule: str) -> str:
        """State and summary of one rule, and its findings behind them."""
        rules = self.verdict["rules"]
        assert isinstance(rules, list)
        (found,) = [each for each in rules if each["id"] == rule]
        return "; ".join([f"{found['state']}: {found['summary']}", *(each["text"] for each in found["findings"])])


@dataclass(frozen=True, kw_only=True, slots=True)
class Release:
    """A project's folder, in Git, with the run folder of its last verdict."""

    root: Path

    @property
    def run(self) -> Path:
        """The newest run folder that holds a whole run."""
        found = self.root.glob(".stackproof/runs/*/manifest.json")
        return max(found, key=lambda path: path.stat().st_mtime).parent

    def write(self, name: str, text: str) -> None:
        """Write a file and commit it."""
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)
        self.commit()

    def commit(self) -> None:
        """Commit everything there is."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "a change")

    def copied(self, root: Path) -> Release:
        """The same with all that was run in it, in a folder that is not there yet."""
        shutil.copytree(self.root, root, symlinks=True)
        return Release(root=root)

    def git(self, *arguments: str) -> None:
        """Run git, as nobody in particular."""
        who = ["-c", "user.name=desk", "-c", "user.email=desk@example.com", "-c", "commit.gpgsign=false"]
        # What this machine's users have set for themselves is nothing to it.
        environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        words = ["git", *who, *arguments]
        subprocess.run(words, cwd=self.root, env=environment, check=True, capture_output=True, timeout=300)

    def command(self, *program: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a command of Stackproof's to its end."""
        return subprocess.run(
            [sys.executable, *program],
            cwd=self.root,
            env={**_environ(), **variables},
            capture_output=True,
            text=True,
            timeout=540,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    def verify(self) -> Weighed:
        """Run everything the policy asks for, and weigh it."""
        return self._weighed(self.command(*VERIFY, "--json"))

    def weigh(self) -> Weighed:
        """Weigh the newest run again."""
        return self.weighed(self.run.name)

    def weighed(self, *runs: str) -> Weighed:
        """Weigh these runs together."""
        return self._weighed(self.command(*WEIGH, "--json", *runs))

    @staticmethod
    def _weighed(done: subprocess.CompletedProcess[str]) -> Weighed:
        said = done.stdout + done.stderr
        assert "Traceback" not in done.stderr, said
        return Weighed(code=done.returncode, verdict=json.loads(done.stdout or "{}"), said=said)


def _environ() -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("STACKPROOF_", "PYTEST_", "GITHUB_", "CI_")) and name not in ("CI", "PYTHONPATH")
    }
    # Plugins of this environment that take longer to load than the tests run.
    return {
        **kept,
        "PYTEST_ADDOPTS": "-pno:langsmith_plugin -pno:hypothesispytest -pno:anyio -pno:asyncio -pno:recording",
    }


class _Provider(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        question = json.loads(self.rfile.read(int(self.headers["content-length"])))["question"]
        body = json.dumps({"text": f"You ask {question} and I think about it."}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class calls it so
        """Say nothing."""


@contextmanager
def _provider() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Provider)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=60)


@pytest.fixture(scope="session", name="good")
def _good(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """The project as it may be released, with the run that showed it."""
    release = Release(root=tmp_path_factory.mktemp("desk"))
    release.root.joinpath("ci").mkdir()
    release.git("init", "--quiet")
    for name, text in FILES.items():
        (release.root / name).parent.mkdir(parents=True, exist_ok=True)
        (release.root / name).write_text(text)
    with _provider() as url:
        recorded = release.command("-m", "stackproof", "run", "--inference-mode", "record", DESK_URL=url)
    assert recorded.returncode == 0, recorded.stdout + recorded.stderr
    release.commit()
    before = release.verify()
    assert before.code == 7, before.said
    updated = release.command("-m", "stackproof", "policy", "update")
    assert updated.returncode == 0, updated.stdout + updated.stderr
    release.commit()
    after = release.verify()
    assert after.code == 0, after.said
    assert after.verdict["verdict"] == "PASS"
    return release


@pytest.fixture
def release(good: Release, tmp_path: Path) -> Release:
    """A copy of it, for a fault to be put into."""
    return good.copied(tmp_path / "desk")
