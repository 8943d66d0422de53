"""Containers beside the stack of a small project, and what asks them: text and starts for tests."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

from stackproof.catalog.records import BesideSpec
from stackproof.stack import beside as containers
from stackproof.stack.place import Place

Beside = Callable[..., None]
PlaceOf = Callable[[], AbstractContextManager[Place]]

ASK = """
import json, os, urllib.request

def ask(path):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(os.environ["STACKPROOF_API_BASE_URL"] + path, timeout=60) as answer:
        return answer.read().decode()
"""
SLOW = (
    ASK
    + """
import pathlib, time

def test_before():
    assert ask("/x") == "ok"

def test_two():
    pathlib.Path("in-two").touch()
    for _ in range(6000):
        if pathlib.Path("go-on").exists(): break
        time.sleep(0.05)
    assert ask("/y") == "ok"
"""
)
SERVE = """
import http.server, os, pathlib, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(os.environ.get("SAYS", "").encode())

    def log_message(self, *args):
        print(self.path, flush=True)

http.server.ThreadingHTTPServer(("0.0.0.0", 8000), Handler).serve_forever()
"""
SERVICE = {"command": ["python3", "-c", SERVE], "ready": {"path": "/"}}
JOB = {"until": "completed"}
# In a test: go on when the one outside has seen what it wanted to see.
UNTIL_SEEN = """
    pathlib.Path("in-two").touch()
    for _ in range(6000):
        if pathlib.Path("go-on").exists():
            break
        time.sleep(0.05)
"""
# What a stack asks of the container beside it, by Python's own sockets.
PASSED_ON = """
        if self.path.startswith("/beside/"):
            import urllib.request
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            body = opener.open(os.environ["FIRST_URL"], timeout=60).read()
"""


def script(text: str) -> dict[str, object]:
    """A command of `sh`."""
    return {"command": ["sh", "-c", text]}


def start_beside(
    specs: list[BesideSpec],
    where: Place,
    undo: ExitStack,
    root: Path,
    *,
    variables: Mapping[str, str] | None = None,
    say: Callable[[str], None] = lambda _: None,
    helper: Place | None = None,
) -> containers.Beside:
    """Start them as a run does; their logs are in `cell` below `root`."""
    (root / "cell").mkdir()
    return containers.start(
        specs,
        where,
        undo,
        variables=variables or {},
        cell_dir=root / "cell",
        timeout=90,
        environment=os.environ,
        say=say,
        check=lambda: None,
        helper=helper,
    )
