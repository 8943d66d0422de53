"""A small project whose stack is an HTTP server without a recorder: what it hands on of ids is a variable's matter."""

from __future__ import annotations

from pathlib import Path

SERVER = """
import http.server, json, os, socket, sys, time, urllib.error, urllib.request

URL = os.environ["PROBE_URL"]
HANDS_ON = os.environ.get("TOY_HANDS_ON", "").split()


def ask(path, body, headers):
    request = urllib.request.Request(URL + path, data=json.dumps(body).encode(), headers=headers)
    request.add_header("content-type", "application/json")
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        kind, _, where = self.path[1:].partition("/")
        self.reply(200, self.tried(where).encode() if kind == "out" else b"ok")

    def tried(self, where):
        began = time.monotonic()
        try:
            socket.create_connection((where, 80), timeout=10).close()
            return "reached"
        except OSError as error:
            return f"{type(error).__name__} in {time.monotonic() - began:.0f} s"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = {name: self.headers[name] for name in HANDS_ON if self.headers[name]}
        self.reply(*ask("/answers", body, headers))

    def reply(self, status, body):
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


if os.environ.get("TOY_AT_START"):
    print(*ask("/started", {}, {}), flush=True)
http.server.ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Handler).serve_forever()
"""

STACK = """
description: a server of the standard library whose calls are recorded at the edge
modes: [server{more_modes}]
command: ["{{python}}", "server.py", "{{host}}", "{{port}}"]
recorder: edge
env: {{TOY_HANDS_ON: "{hands_on}"}}
edge:
  probe: {{path: /ask, body: {{model: "{{text_model}}"}}}}
{more}
"""

SETUPS = """
local:
  description: a provider of this machine
  env: {{PROBE_URL: "{url}"}}
  providers:
    probe: {{variable: PROBE_URL}}
  models: {{text: probe/m}}
"""

TESTS = """
import concurrent.futures, json, time

import httpx
import pytest


def ask(stack, word):
    answer = httpx.post(stack.base_url + "/ask", json={"word": word}, timeout=60)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.fixture(scope="module")
def wide(stack):
    yield ask(stack, "wide")
    ask(stack, "gone")


@pytest.mark.parametrize("number", range(4))
def test_one(stack, number):
    assert ask(stack, "same") == {"word": "same"}
    assert ask(stack, f"other {number}") == {"word": f"other {number}"}


def test_wide(stack, wide):
    assert wide == {"word": "wide"}
    assert ask(stack, "last") == {"word": "last"}
"""


def write(root: Path, url: str, *, hands_on: str = "", more: str = "", more_modes: str = "") -> str:
    """Put stack `gateway`, its setup and its tests into a project; what --stack-config takes."""
    folder = root / "stacks" / "gateway"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "server.py").write_text(SERVER)
    (folder / "stack.yaml").write_text(STACK.format(hands_on=hands_on, more=more, more_modes=more_modes))
    (root / "stacks" / "setups.yaml").write_text(SETUPS.format(url=url))
    (root / "tests" / "integration" / "base" / "test_it.py").write_text(TESTS)
    return "server:gateway"
