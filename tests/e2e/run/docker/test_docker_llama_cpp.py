"""`docker:llama-cpp` says what `llama-cpp` says, byte for byte: no recording tells which of the two it was made with.

Runs when its image is on the engine already, or when STACKPROOF_REQUIRE names llama-cpp; then it is built.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from stackproof.catalog import catalog
from stackproof.stack import built
from stackproof.stack import service as services
from stackproof.stack.engine import Engine

TEXT, TOOLS = "smollm2:135m", "stackproof-scripted-tools"
QUESTION = [{"role": "user", "content": "What is a bridge?"}]
TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}
CALLS = (
    ("/v1/models", None),
    ("/v1/chat/completions", {"model": TEXT, "messages": QUESTION, "max_tokens": 24}),
    ("/v1/chat/completions", {"model": TEXT, "messages": QUESTION, "max_tokens": 8, "stream": True}),
    ("/v1/chat/completions", {"model": TOOLS, "messages": QUESTION, "tools": [TOOL]}),
    ("/v1/embeddings", {"model": TEXT, "input": ["pears", "a ship"]}),
    ("/v1/chat/completions", {"model": "nobody", "messages": QUESTION}),
)
# What differs between two equal requests to one server: docs/providers/llama-cpp.md.
MOMENT = re.compile(r'"(id|created|[a-z_]+_ms|[a-z_]+_per_second|[a-z_]+_per_token_ms)":("[^"]*"|[0-9.e+-]+)')


def required() -> bool:
    return "llama-cpp" in os.environ.get("STACKPROOF_REQUIRE", "").split()


@pytest.fixture(scope="module")
def ready(engine: Engine) -> None:
    if not required() and not built.of(engine, "llama-cpp"):
        pytest.skip("llama-cpp has no image on the engine; STACKPROOF_REQUIRE=llama-cpp builds and runs it")


@contextlib.contextmanager
def started(name: str, folder: Path) -> Iterator[services.RunningService]:
    folder.mkdir()
    with services.run(
        catalog.load(folder).service(name),
        environment=os.environ,
        cell_dir=folder,
        run_id="e2e000",
        say=print,
        check=lambda: None,
    ) as running:
        yield running


def answers(running: services.RunningService) -> Iterator[tuple[int, dict[str, str], str]]:
    parts = urlsplit(running.url)
    for path, body in CALLS:
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=300)
        with contextlib.closing(connection):
            connection.request("GET" if body is None else "POST", path, None if body is None else json.dumps(body))
            answer = connection.getresponse()
            headers = {name.lower(): value for name, value in answer.getheaders()}
            headers.pop("content-length", None)  # of times, which have more digits or fewer
            yield answer.status, headers, MOMENT.sub(r'"\1":…', answer.read().decode())


@pytest.mark.usefixtures("ready")
def test_in_a_container_it_says_what_the_process_says(tmp_path: Path) -> None:
    with started("docker:llama-cpp", tmp_path / "contained") as contained:
        inside = list(answers(contained))
        assert contained.pid is None
    assert [status for status, *_ in inside] == [200, 200, 200, 200, 200, 404]
    log = (tmp_path / "contained/service.log").read_text(errors="replace")
    assert "llama-cpp: ready at http://0.0.0.0:8000/v1 with smollm2:135m, stackproof-scripted-tools" in log
    if not required() and not list((services.cache_folder(os.environ) / "llama-cpp").glob("*/venv")):
        pytest.skip("llama-cpp is not in the cache as a process; STACKPROOF_REQUIRE=llama-cpp fetches it")
    with started("llama-cpp", tmp_path / "process") as process:
        assert list(answers(process)) == inside
