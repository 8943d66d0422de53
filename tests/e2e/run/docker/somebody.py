"""An image of somebody else, with a Python and packages of its own, and a project that runs it: text for tests."""

from __future__ import annotations

import io
import json
import tarfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

REQUIREMENTS = b"click==7.1.2\nhttpx==0.25.2\nstarlette==0.37.2\nuvicorn==0.30.6\n"
"""Older than those of this environment, and in conflict with them."""

DOCKERFILE = """
ARG BASE
FROM ${BASE}
COPY wheels /wheels
RUN python3 -m venv /venv && /venv/bin/pip install --no-index --find-links=/wheels click httpx starlette uvicorn
RUN echo somebody:x:4321:4321::/home/somebody:/bin/sh >>/etc/passwd && mkdir --parents /home/somebody
COPY application /application
ENV PYTHONPATH=/application/more GREETING=hello
WORKDIR /application
USER somebody
ENTRYPOINT ["/bin/sh", "start"]
CMD ["gateway:app", "--port", "9000"]
"""

FILES = {
    "start": 'echo "started as $(id -u) with $# words"\nexec /venv/bin/python -m uvicorn --host 0.0.0.0 "$@"\n',
    "more/of_its_own.py": "NAME = 'somebody'\n",
    "gateway.py": """
import os, pathlib, sys
import click, httpx, of_its_own
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route


async def chat(request):
    asked = await request.json()
    headers = {"authorization": "Bearer " + os.environ["TOY_KEY"]}
    async with httpx.AsyncClient() as client:
        answer = await client.post(os.environ["TOY_URL"] + "/chat/completions", json=asked, headers=headers)
    return JSONResponse(answer.json(), status_code=answer.status_code)


async def facts(request):
    kept = pathlib.Path.home() / ".kept"
    kept.write_text("yes")
    return JSONResponse({
        "python": sys.version_info[:2], "click": click.__version__, "httpx": httpx.__version__,
        "name": of_its_own.NAME, "greeting": os.environ["GREETING"], "folder": os.getcwd(), "user": os.getuid(),
        "home": kept.read_text(), "path": os.environ["PYTHONPATH"].partition(":")[2],
    })


async def health(request):
    return JSONResponse({})


app = Starlette(routes=[
    Route("/health", health), Route("/facts", facts), Route("/v1/chat/completions", chat, methods=["POST"]),
])
""",
}

STACK = """
description: a gateway that comes as an image
modes: [docker]
readiness: {{path: /health, timeout: 90}}
docker: {{image: "{image}", port: 9000}}
"""

SETUPS = """
local:
  description: a provider that the test has started
  env: {TOY_URL: "http://127.0.0.1:9/v1"}
  secrets: [TOY_KEY]
  providers: {toy: {variable: TOY_URL}}
"""

TESTS = """
def test_a_chat(http_client):
    asked = {"model": "toy", "messages": [{"role": "user", "content": "hello"}]}
    answer = http_client.post("/v1/chat/completions", json=asked)
    assert answer.status_code == 200, answer.text
    assert answer.json()["choices"][0]["message"]["content"] == "good day"


def test_facts(http_client):
    import os

    said = http_client.get("/facts").json()
    assert said == {
        "python": [3, 13], "click": "7.1.2", "httpx": "0.25.2", "name": "somebody", "greeting": "hello",
        "folder": "/application", "user": os.getuid(), "home": "yes", "path": "/application/more",
    }
"""


def context(wheels: Path) -> io.BytesIO:
    """The context of the image's build: its application, and wheels for it."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, text in {"Dockerfile": DOCKERFILE, **{f"application/{key}": FILES[key] for key in FILES}}.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(text.encode()), 0o644
            archive.addfile(info, io.BytesIO(text.encode()))
        for wheel in sorted(wheels.glob("*.whl")):
            archive.add(wheel, arcname=f"wheels/{wheel.name}")
    made.seek(0)
    return made


@dataclass(frozen=True, kw_only=True, slots=True)
class Provider:
    """A provider on this machine. asked: headers of the calls that reached it."""

    url: str
    asked: list[Mapping[str, str]] = field(default_factory=list)


@contextmanager
def provider() -> Iterator[Provider]:
    """A provider that answers every chat with the same words, for as long as the context lasts."""
    asked: list[Mapping[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            asked.append(dict(self.headers))
            choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "good day"}}
            raw = json.dumps({"id": "chatcmpl-1", "object": "chat.completion", "choices": [choice]}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield Provider(url=f"http://127.0.0.1:{server.server_address[1]}/v1", asked=asked)
        server.shutdown()
        thread.join(60)
