"""A project that changes after it was recorded: its tests, files, parameters, models and what its SDK sends.

Each time replay misses, one command brings the recordings along, and a strict replay passes without the provider.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.recordings.tiny_project import FILES

_SETUPS = "stacks/setups.yaml"
_FILES = {
    **FILES,
    "pytest.ini": "[pytest]\n",
}
_TESTS = """
import os

import httpx2
import pytest


def ask(say, model="m-1"):
    body = {"model": model, "say": say}
    answer = httpx2.post(os.environ["PROBE_URL"] + "/answers", json=body, trust_env=False, timeout=60)
    answer.raise_for_status()
    return answer.json()["text"]


@pytest.fixture(scope="module")
def greeting():
    return ask("good morning")


def test_one(greeting):
    assert [ask("again")[-5:] for _ in range(2)] == ["again", "again"]
    assert greeting.endswith("good morning")


@pytest.mark.parametrize("size", ["small", "large"])
def test_size(size):
    assert ask(f"how large is {len(size)}?")


@pytest.mark.parametrize("model", ["probe/m-1", "probe/m-1-mini"])
def test_model(model):
    assert ask("who are you?", model.partition("/")[2])
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """A project in a folder of its own, and how often its provider was asked."""

    root: Path
    url: str
    asked: list[Any]

    def run(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        """A program of this Python in a shell of its own."""
        outer = ("STACKPROOF_", "PYTEST_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(outer) and name != "CI"}
        return subprocess.run(
            [sys.executable, "-m", *arguments],
            cwd=self.root,
            env={**kept, "PROBE_URL": self.url, "PYTHONDONTWRITEBYTECODE": "1", **more},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def record(self) -> None:
        """Record everything anew."""
        ended = self._tests("record")
        assert ended.returncode == 0, ended.stdout + ended.stderr

    def replay(self) -> bool:
        """Whether a strict replay passes; nobody may ask the provider."""
        before = len(self.asked)
        ended = self._tests("replay", STACKPROOF_STRICT="1")
        assert len(self.asked) == before
        assert ended.returncode in (0, 1), ended.stdout + ended.stderr
        return ended.returncode == 0

    def _tests(self, mode: str, **more: str) -> subprocess.CompletedProcess[str]:
        # Plugins that nobody here has a use for cost more than the tests.
        unused = [f"-pno:{name}" for name in ("hypothesispytest", "langsmith_plugin", "xdist", "asyncio", "anyio")]
        given = {"STACKPROOF_INFERENCE_MODE": mode, "STACKPROOF_STACK_CONFIG": "library:tiny", **more}
        return self.run("pytest", "-pno:cacheprovider", *unused, "tests/integration", **given)

    def repair(self, *arguments: str, code: int = 0) -> str:
        """What `stackproof recordings …` said."""
        ended = self.run("stackproof", "recordings", *arguments)
        assert ended.returncode == code, ended.stdout + ended.stderr
        return ended.stdout

    def edit(self, before: str, after: str, name: str = "tests/integration/test_it.py") -> None:
        """Change a text in a file of the project."""
        path = self.root / name
        text = path.read_text()
        assert before in text
        path.write_text(text.replace(before, after))


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """A project that is recorded and replays; its provider numbers its answers."""
    asked: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            asked.append(body)
            raw = json.dumps({"text": f"answer {len(asked)} to {body['say']}"}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: Any) -> None:
            pass

    for name, text in {**_FILES, "tests/integration/test_it.py": _TESTS}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        made = Project(root=tmp_path, url=f"http://127.0.0.1:{server.server_address[1]}/v1", asked=asked)
        made.record()
        assert made.replay()
        yield made
        server.shutdown()
        thread.join(5)


def test_recordings_follow_a_test_a_file_a_parameter_and_a_model(project: Project) -> None:
    it = "tests/integration/test_it.py"
    project.edit("def test_one", "def test_first")
    assert not project.replay()
    said = project.repair("rename", f"{it}::test_one", f"{it}::test_first")
    assert said.endswith("Summary: 3 files moved in 1 setup\n"), "two answers, and the fixture that it set up first"
    assert project.replay()

    moved = "tests/integration/deep/test_there.py"
    (project.root / moved).parent.mkdir()
    (project.root / it).rename(project.root / moved)
    assert not project.replay()
    assert project.repair("rename", it, moved).endswith("Summary: 7 files moved in 1 setup\n")
    assert project.replay()

    project.edit('["small", "large"]', '["tiny_", "large"]', moved)
    assert not project.replay()
    project.repair("rename", f"{moved}::test_size[small]", f"{moved}::test_size[tiny_]")
    assert project.replay()

    project.edit("m-1", "m-2", moved)
    assert not project.replay()
    project.repair("rename", "--model", "m-1", "m-2")
    assert not project.replay(), "m-1-mini is another model"
    project.repair("rename", "--model", "m-1-mini", "m-2-mini")
    assert project.replay()


def test_what_an_sdk_adds_is_accepted_once_and_replays_from_then_on(project: Project) -> None:
    project.edit('"say": say}', '"say": say, "max_completion_tokens": 100}')
    assert not project.replay()
    said = project.repair("rekey", "--run", "last", code=6)
    assert "body.json.max_completion_tokens  nothing → 100, " in said
    for _ in range(2):
        # The first miss ends a test: what it would have asked then is missed by the next run.
        if project.replay():
            break
        project.repair("rekey", "--run", "last", "--accept", "body.json.max_completion_tokens")
    assert project.replay()


def test_a_new_rule_of_the_setup_is_put_on_what_is_recorded(project: Project) -> None:
    project.edit('"say": say}', '"say": say, "stream_options": None}')
    project.record()
    project.edit("  description: A provider", "  rules: [{name: bedrock}]\n  description: A provider", _SETUPS)
    assert not project.replay()
    assert project.repair("rekey").endswith("Summary: 7/7 files re-keyed\n")
    assert project.replay()
    project.edit(', "stream_options": None', "")
    assert project.replay(), "the rule makes both equal"
