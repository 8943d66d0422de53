"""A provider service that is an image: pulled, started with its models, called at its port, and gone afterwards."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from tests.e2e.engine_turn import alone

from stackproof.stack.engine import Engine

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project

IMAGE = "stackproof/a-provider:1"
DOCKERFILE = 'ARG BASE\nFROM ${BASE}\nCOPY serve.py /serve.py\nCMD ["python3", "/serve.py"]\n'
SERVE = """
import http.server, json, os, pathlib

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.say(os.environ["GREETING"])

    def do_POST(self):
        model = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["model"]
        if model == "unknown":
            return self.say(json.dumps({"error": "pull model manifest: file does not exist"}))
        pathlib.Path("/models", model).write_text("weights")
        self.say(json.dumps({"status": "success"}))

    def say(self, text):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *args):
        print(self.path, flush=True)

http.server.ThreadingHTTPServer(("0.0.0.0", 8000), Handler).serve_forever()
"""
SERVICE = """
description: a provider in a container
docker: {image: "IMAGE", port: 8000, cache: /models, env: {GREETING: hello}, pull: [MODEL]}
readiness: {path: /api/version, status: 200, timeout: 90}
server: nobody's
"""
SETUPS = """
local:
  description: a provider that is started
  env: {TOY_URL: "http://127.0.0.1:9/v1"}
  providers:
    toy: {variable: TOY_URL}
"""
TESTS = """
import os, urllib.request

def test_it_is_called():
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    assert os.environ["TOY_URL"].endswith("/v1")
    assert opener.open(os.environ["TOY_URL"] + "/anything", timeout=60).read() == b"hello"
"""


@pytest.fixture(scope="module")
def image(engine: Engine) -> Iterator[str]:
    """An image that serves what Ollama's API has of it."""
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as archive:
        for name, text in {"Dockerfile": DOCKERFILE, "serve.py": SERVE}.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    context.seek(0)
    with alone():
        list(engine.build(context, tag=IMAGE, arguments={"BASE": os.environ["STACKPROOF_DOCKER_BASE"]}, labels={}))
    yield IMAGE
    with alone():
        engine.remove_image(IMAGE)


def described(project: Project, image: str, model: str = "small") -> tuple[str, ...]:
    """Add the service; what starts a run with it."""
    folder = project.root / "stacks/a-provider"
    folder.mkdir(exist_ok=True)
    (folder / "service.yaml").write_text(SERVICE.replace("IMAGE", image).replace("MODEL", model))
    (project.root / "stacks/setups.yaml").write_text(SETUPS)
    project.environ["XDG_CACHE_HOME"] = str(project.root / "cache")
    project.tests(TESTS)
    return (
        *("--stack-config", project.stack("toy")),
        *("--provider-service", "a-provider", "--inference-mode", "live"),
    )


def test_it_is_started_with_its_models_called_and_gone(project: Project, image: str) -> None:
    done = project.run(*described(project, image))
    assert done.code == 0, done.output
    assert "a-provider ready in" in done.output
    assert (project.root / "cache/stackproof/services/a-provider/data/small").read_text() == "weights"
    assert "/v1/anything" in (project.cell_dir() / "service.log").read_text()


def test_a_model_that_it_cannot_fetch_is_named(project: Project, image: str) -> None:
    done = project.run(*described(project, image, model="unknown"))
    assert done.code == 5, done.output
    assert "a-provider has not model unknown and could not fetch it: pull model manifest" in done.output


def test_an_image_that_cannot_be_pulled_is_named_with_what_to_do(project: Project, engine: Engine) -> None:
    assert engine.image("registry.invalid/nobody:1") is None
    done = project.run(*described(project, "registry.invalid/nobody:1"))
    assert done.code == 4, done.output
    assert "the image of service 'a-provider' is missing: the Docker engine at" in done.output
    assert "failed while pulling image registry.invalid/nobody:1" in done.output
    assert "`docker pull registry.invalid/nobody:1` says more" in done.output
    assert "Traceback" not in done.output
