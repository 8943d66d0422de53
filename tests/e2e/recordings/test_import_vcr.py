"""Cassettes that vcrpy and pytest-recording record here, imported, and replayed as what the live calls had given."""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("vcr", reason="vcrpy is not installed")
pytest.importorskip("openai", reason="openai is not installed")

_HERE = Path(__file__).parent
_TEST = "tests/integration/test_it.py::test_it"
_SETUPS = """
local:
  description: A provider that a test has started
  env: {{LOCAL_URL: "http://127.0.0.1:{port}/v1"}}
  providers: {{local: {{variable: LOCAL_URL}}}}
  models: {{text: "local/m"}}
"""
_STACK = """
description: A stack that is never asked
modes: [library]
python_path: ["."]
app: tiny_app:create_app
readiness: {path: /v1/health, status: 200, timeout: 120}
"""
_APP = """
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route


def create_app():
    return Starlette(routes=[Route("/v1/health", lambda request: JSONResponse({"status": "OK"}))])
"""
_SUITES = """
root: tests/integration
suites:
  base: {description: All there is, roots: [tests/integration], default_setup: local}
"""
_TEXT_CALLS = (
    "openai_plain", "openai_stream", "openai_twice", "openai_steps", "openai_models",
    "anthropic_plain", "anthropic_stream", "requests_json", "requests_form", "requests_gzip", "requests_redirect",
)  # fmt: skip
# vcrpy's JSON serializer refuses what is no text.
_BINARY_CALLS = ("openai_upload", "requests_binary")


def _wires() -> Any:
    """What providers answer to chat and messages: the wires that the tests of the SDKs are run on."""
    spec = importlib.util.spec_from_file_location("import_vcr_wires", _HERE.parent / "sdk/wires.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclass
class Asked:
    """A request, as `wires.answer` reads it."""

    path: str
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body or b"{}")


class Wire:
    """The answering side, as `wires.answer` uses it."""

    def __init__(self, handler: BaseHTTPRequestHandler, asked: Asked) -> None:
        self._handler, self.asked = handler, asked

    def head(self, status: int = 200, content_type: str = "application/json", **headers: str) -> None:
        self._handler.send_response(status)
        self._handler.send_header("content-type", content_type)
        for name, value in headers.items():
            self._handler.send_header(name.replace("_", "-"), value)
        self._handler.send_header("transfer-encoding", "chunked")
        self._handler.end_headers()

    def chunk(self, data: bytes) -> None:
        self._handler.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def end(self) -> None:
        self._handler.wfile.write(b"0\r\n\r\n")

    def json(self, value: Any, status: int = 200, **headers: str) -> None:
        self.send(json.dumps(value).encode(), status, content_type="application/json", **headers)

    def send(self, data: bytes, status: int = 200, **headers: str) -> None:
        self._handler.send_response(status)
        for name, value in {"content_length": str(len(data)), "set_cookie": "session=1", **headers}.items():
            self._handler.send_header(name.replace("_", "-"), value)
        self._handler.end_headers()
        self._handler.wfile.write(data)


@dataclass
class Provider:
    """A provider on the loopback interface; `asked` are the paths of all requests that reached it."""

    port: int
    asked: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"


def _answer(provider: Provider, wires: Any, wire: Wire) -> None:
    path, number = wire.asked.path.partition("?")[0].removeprefix("/v1"), len(provider.asked)
    match path.split("/")[1:]:
        case ["chat", "completions"] if wire.asked.json.get("model") == "limited":
            wire.json({"error": {"message": "later", "code": "rate"}}, 429, retry_after="7")
        case ["chat", "completions"] | ["messages"]:
            wires.answer(wire)
        case ["embeddings"]:
            item = {"object": "embedding", "index": 0, "embedding": [number / 8, -0.0, 1e-7]}
            usage = {"prompt_tokens": 1, "total_tokens": number}
            wire.json({"object": "list", "model": "m", "data": [item], "usage": usage})
        case ["responses", *known]:
            made = known[0] if known else f"resp_{number:032x}"
            wire.json({
                "id": made, "object": "response", "created_at": 1700000000 + number, "status": "completed",
                "model": "m", "output": [], "tools": [], "tool_choice": "auto", "parallel_tool_calls": True,
            })  # fmt: skip
        case ["models"]:
            wire.json({"object": "list", "data": [{"id": "m", "object": "model", "created": 5, "owned_by": "us"}]})
        case ["files"]:
            file = {"id": "file-1", "object": "file", "bytes": 7, "created_at": 5, "filename": "a.txt"}
            wire.json({**file, "purpose": "batch", "status": "processed"})
        case ["echo"]:
            wire.json({"body": wire.asked.body.decode(), "n": number}, x_request_id="r-1")
        case ["gzip"]:
            packed = gzip.compress(json.dumps({"packed": "ä" * 50}).encode())
            wire.send(packed, content_type="application/json", content_encoding="gzip")
        case ["moved"]:
            wire.send(b"", 302, location="/v1/echo")
        case ["binary"]:
            wire.send(bytes(range(256)), content_type="application/octet-stream")
        case _:
            wire.json({"error": path}, 404)


@pytest.fixture
def provider() -> Iterator[Provider]:
    """Listens on all of the loopback network, so that it can be no provider too; until `silent` or the test's end."""
    wires = _wires()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 60

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            told.asked.append(self.path)
            _answer(told, wires, Wire(self, Asked(self.path, body)))

        do_GET = do_POST  # noqa: N815 - the base class calls it so

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            pass  # clients leave; that is theirs to do

    with Server(("0.0.0.0", 0), Handler) as server:
        told = Provider(port=int(server.server_address[1]))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield told
        server.shutdown()
        thread.join(5)


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """A project in a folder of its own."""

    root: Path
    provider: Provider

    def run(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        """A program of this environment in the project's folder."""
        outer = ("STACKPROOF_", "PYTEST_", "LOCAL_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(outer) and name != "CI"}
        return subprocess.run(
            [sys.executable, *arguments], cwd=self.root, env={**kept, "PYTHONDONTWRITEBYTECODE": "1", **more},
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip

    def calls(self, how: str, place: str, *names: str) -> dict[str, Any]:
        """What the calls of these names gave."""
        run_dir = self.root / ".stackproof/runs/r"
        run_dir.mkdir(parents=True, exist_ok=True)
        ended = self.run(
            str(_HERE / "vcr_calls.py"), how, self.provider.url, place, *names, SCOPE=_TEST, RUN_DIR=str(run_dir)
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return dict(json.loads(ended.stdout))

    def import_(self, *arguments: str, code: int = 0) -> dict[str, Any]:
        """What `stackproof recordings import` says as JSON."""
        ended = self.run("-m", "stackproof", "recordings", "import", *arguments, "--json")
        assert ended.returncode == code, ended.stdout + ended.stderr
        return dict(json.loads(ended.stdout))

    def pytest(self, *arguments: str, **more: str) -> str:
        """What a pytest prints that passes."""
        unused = [f"-pno:{name}" for name in ("cacheprovider", "xdist", "rerunfailures", "hypothesispytest", "anyio")]
        ended = self.run("-m", "pytest", "-q", *unused, *arguments, **more)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout

    def kept(self) -> list[dict[str, Any]]:
        """Every recording."""
        return [json.loads(path.read_text()) for path in sorted((self.root / "recordings").rglob("*.json"))]


@pytest.fixture
def project(tmp_path: Path, provider: Provider) -> Project:
    """A project whose only setup is the provider."""
    for name, text in {
        "stacks/setups.yaml": _SETUPS.format(port=provider.port),
        "stacks/tiny/stack.yaml": _STACK,
        "stacks/tiny/tiny_app.py": _APP,
        "tests/suites.yaml": _SUITES,
        "tests/integration/test_it.py": "def test_it():\n    pass\n",
        "pytest.ini": "[pytest]\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "tests/integration/cassettes/test_it").mkdir(parents=True)
    return Project(root=tmp_path, provider=provider)


@pytest.mark.parametrize("serializer", ["yaml", "json"])
def test_what_sdks_gave_when_it_was_recorded_they_give_again(project: Project, serializer: str) -> None:
    names = [*_TEXT_CALLS, *(_BINARY_CALLS if serializer == "yaml" else ())]
    cassette = f"tests/integration/cassettes/test_it/test_it.{serializer}"
    given = project.calls(serializer, cassette, *names)
    count = len(project.provider.asked)
    assert count == len(names) + 1 + 2 + 1  # one asks twice, one three times, one is redirected
    report = project.import_("tests/integration")
    assert report["refused"] == []
    assert report["imported"] == count
    shutil.rmtree(project.root / "tests/integration/cassettes")
    assert project.calls("replay", "recordings", *names) == given
    assert len(project.provider.asked) == count, "nothing was asked in replay"


def test_ids_stay_those_that_later_requests_carry(project: Project) -> None:
    given = project.calls("yaml", "tests/integration/cassettes/test_it/test_it.yaml", "openai_steps")
    project.import_("tests/integration")
    first, second, again = given["openai_steps"]
    assert first["id"] == again["id"] != second["id"]
    kept = {item["response"]["body"]["json"]["id"]: item["request"] for item in project.kept() if item["test_id"]}
    assert kept[second["id"]]["body"]["json"]["previous_response_id"] == first["id"]


def test_what_was_not_carried_over_is_counted_and_nothing_secret_travels(project: Project) -> None:
    cassette = "tests/integration/cassettes/test_it/test_it.yaml"
    project.calls("yaml", cassette, "openai_stream", "requests_json", "openai_refused", "httpx_elsewhere")
    # As a project has it that does not filter: the key is in the cassette.
    path = project.root / cassette
    path.write_text(
        path.read_text().replace("    headers:\n", "    headers:\n      authorization: [Bearer sk-012]\n", 1)
    )
    report = project.import_("tests/integration", code=6)
    assert report["imported"] == 2
    assert {item["reason"] for item in report["refused"]} == {
        "status 429 (kept with --record-errors)",
        "no setup has a provider at 127.0.0.2; say --setup or --provider",
    }
    assert [what.partition(":")[0] for what in report["lost"]] == [
        "where the network cut a stream",
        "set-cookie",
        "headers off the list of those that recordings keep (x-request-id, rate limits, …)",
    ]
    written = "".join(json.dumps(item) for item in project.kept())
    assert "sk-012" not in written
    assert "session=1" not in written
    assert {item["provenance"]["imported_from"]["interaction"] for item in project.kept()} == {1, 2}


def test_errors_are_taken_as_asked_and_raise_what_they_raised(project: Project) -> None:
    given = project.calls("yaml", "tests/integration/cassettes/test_it/test_it.yaml", "openai_refused")
    report = project.import_("tests/integration", "--record-errors")
    assert report["imported"] == 1
    assert given["openai_refused"][0] == 429
    assert project.calls("replay", "recordings", "openai_refused") == given


def test_a_cassette_anywhere_belongs_to_the_test_that_is_named(project: Project) -> None:
    given = project.calls("json", "elsewhere.json", "anthropic_plain")
    report = project.import_("elsewhere.json", code=6)
    assert "--test NODEID says it" in report["refused"][0]["reason"]
    project.import_("elsewhere.json", "--test", _TEST)
    assert project.calls("replay", "recordings", "anthropic_plain") == given


def test_importing_again_changes_nothing(project: Project) -> None:
    project.calls("yaml", "tests/integration/cassettes/test_it/test_it.yaml", "openai_twice", "openai_models")
    project.import_("tests/integration")
    before = {path: path.stat().st_mtime_ns for path in (project.root / "recordings").rglob("*.json")}
    assert len(before) == 3
    report = project.import_("tests/integration")
    assert sum(fates["present"] for fates in report["kinds"].values()) == 3
    assert {path: path.stat().st_mtime_ns for path in (project.root / "recordings").rglob("*.json")} == before


_TESTS = """
import os

import openai
import pytest

pytestmark = [pytest.mark.vcr]


def say(text):
    with openai.OpenAI(base_url=os.environ["LOCAL_URL"], api_key="k", max_retries=0) as client:
        return client.embeddings.create(model="m", input=text, encoding_format="float").usage.total_tokens


def test_plain():
    assert say("plain") == 1


@pytest.mark.parametrize("text", ["gpt-4o", "b"])
def test_parameters(text):
    assert say(text) in (2, 3)


class TestTurns:
    def test_two(self):
        assert [say("turn"), say("turn")] == [4, 5]
"""


def test_the_cassettes_of_pytest_recording_are_no_longer_needed(project: Project) -> None:
    (project.root / "tests/integration/test_tokens.py").write_text(_TESTS)
    there = {"LOCAL_URL": project.provider.url, "PYTEST_ADDOPTS": "-pno:langsmith_plugin -pno:hypothesispytest"}
    project.pytest("-pno:stackproof", "--record-mode=once", "tests/integration/test_tokens.py", **there)
    cassettes = project.root / "tests/integration/cassettes"
    assert sorted(path.name for path in (cassettes / "test_tokens").iterdir()) == [
        "TestTurns.test_two.yaml", "test_parameters[b].yaml", "test_parameters[gpt-4o].yaml", "test_plain.yaml",
    ]  # fmt: skip
    asked = len(project.provider.asked)
    report = project.import_("tests/integration/cassettes")
    assert report["imported"] == asked == 5
    shutil.rmtree(cassettes)
    out = project.pytest(
        "--disable-recording", "tests/integration/test_tokens.py",
        STACKPROOF_INFERENCE_MODE="replay", STACKPROOF_STACK_CONFIG="library:tiny", **there,
    )  # fmt: skip
    assert "5 replayed, 0 recorded, 0 missed, 0 unused" in out
    assert "4 passed" in out
    assert len(project.provider.asked) == asked
