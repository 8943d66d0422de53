"""Every example of the pages of the public API is a program that runs, and says what it promises."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import requests

from stackproof import fixtures
from stackproof.cli import reference_api
from stackproof.recorder import recorded

EXAMPLES = [(name, text) for name in reference_api.PAGES for text in reference_api.examples(name)]
# What follows when an example is run in a folder with a recording of the question that it asks.
PRINTED = {
    "recorder": "Hello 1 1\n",
    "trace": "",
    "faults": "429 2\n",
}
SHOP = """
import json

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while (await receive())["type"] != "lifespan.shutdown":
            await send({"type": "lifespan.startup.complete"})
        return await send({"type": "lifespan.shutdown.complete"})
    body = b""
    while (part := await receive()).get("more_body"):
        body += part["body"]
    body += part["body"]
    answer = {"status": "OK"}
    if scope["method"] == "POST":
        text = json.loads(body)["messages"][-1]["content"]
        message = {"role": "assistant", "content": "You asked: " + text}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        answer = {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
    head = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    await send({"type": "http.response.body", "body": json.dumps(answer).encode()})
"""
PROJECT = {
    "shop.py": SHOP,
    "stacks/shop/stack.yaml": "description: a shop\nmodes: [library]\napp: shop:app\n",
    "tests/suites.yaml": "suites: {base: {description: d, roots: [tests/integration/base], default_setup: ollama}}\n",
    "pyproject.toml": '[tool.stackproof]\nstack_config = "library:shop"\n',
    "pytest.ini": "[pytest]\npythonpath = .\n",
}


def test_every_page_has_an_example() -> None:
    assert {name for name, _ in EXAMPLES} == set(PRINTED)


@pytest.mark.parametrize(("package", "text"), EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_an_example_runs(package: str, text: str, tmp_path: Path, provider: Any) -> None:
    question = {"model": "smollm2:135m", "messages": [{"role": "user", "content": "Hello"}]}
    given: dict[str, Any] = {"providers": {"ollama": provider.url}, "mode": "record", "environ": {}}
    with recorded(tmp_path / "recordings/ollama", scope="greeting", **given):
        requests.post(f"{provider.url}/chat/completions", json=question, timeout=30)
    assert _run([sys.executable, "-c", text], tmp_path) == PRINTED[package]


def test_the_example_of_the_fixtures_is_a_test_that_passes(tmp_path: Path) -> None:
    pytest.importorskip("openai", reason="the SDK openai is not installed")
    (example,) = re.findall(r"```python\n(.*?)```", fixtures.__doc__ or "", re.DOTALL)
    for name, text in {**PROJECT, "tests/integration/base/test_shop.py": example}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    told = _run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/integration"], tmp_path)
    assert "2 passed" in told


def _run(command: list[str], folder: Path) -> str:
    ours = ("STACKPROOF", "PYTEST", "CI")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
