"""The files of a project with a stack of one path, and the setup of a provider that its tests ask by themselves."""

from __future__ import annotations

SETUP = """
probe:
  description: A provider that a test has started
  env: {PROBE_URL: "http://127.0.0.1:9/v1"}
  providers: {probe: {variable: PROBE_URL}}
"""
FILES = {
    "stacks/setups.yaml": SETUP,
    "stacks/tiny/stack.yaml": """
description: An application of one path
modes: [library]
python_path: ["."]
app: tiny_app:create_app
""",
    "stacks/tiny/tiny_app.py": """
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route


def create_app():
    return Starlette(routes=[Route("/v1/health", lambda request: PlainTextResponse("OK"))])
""",
    "tests/suites.yaml": """
suites:
  base: {description: All there is, roots: [tests/integration], default_setup: probe}
""",
}
