"""A stack in a container that is recorded at the edge: the edge is its only way out, and in replay there is none."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.edge import toy
from tests.e2e.engine_turn import alone

from stackproof.edge import contained as edges
from stackproof.stack import built, image
from stackproof.stack.engine import Engine

DOCKERFILE = "ARG BASE\nFROM ${BASE}\nCOPY stack /stack\nWORKDIR /stack\n"
TRIES_TO_GET_OUT = r"""
import re

def test_nothing_else_is_reached(stack):
    for where in ("192.0.2.1", "api.openai.com"):
        said = httpx.get(stack.base_url + "/out/" + where, timeout=60).text
        # At once, not when ten seconds are over, as where nobody says that there is no way.
        assert re.search(r"(?i)error in [0-4] s$", said), said
"""


def _provider() -> Any:
    path = Path(__file__).parents[3] / "unit" / "recorder_wire" / "conftest.py"
    spec = importlib.util.spec_from_file_location("stackproof_docker_edge_provider", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules.setdefault(spec.name, importlib.util.module_from_spec(spec))
    spec.loader.exec_module(module)
    return module.provider


provider = _provider()


@pytest.fixture(scope="module", autouse=True)
def _edge_image(engine: Engine) -> Iterator[None]:
    """The edge's image, made before anybody looks at what is left; where it was there it stays."""
    there = {item.name for item in built.of(engine, "edge")}
    base = os.environ["STACKPROOF_DOCKER_BASE"]
    with alone():
        image.prepare(engine, edges.SPEC, base=base, environment=os.environ, say=print, check=lambda: None)
    yield
    with alone():
        built.remove(engine, tuple(item for item in built.of(engine, "edge") if item.name not in there))


@pytest.fixture
def gateway(project: Any, engine: Engine, provider: Any) -> Iterator[Any]:
    """Makes the toy stack one that runs in a container."""
    provider.script = lambda wire: wire.json(wire.asked.json)
    project.environ["STACKPROOF_DOCKER_BASE"] = os.environ["STACKPROOF_DOCKER_BASE"]

    def write(**more: str) -> str:
        section = "docker: {dockerfile: Dockerfile, context: [server.py]}\n"
        toy.write(project.root, provider.url, more=section, more_modes=", docker", **more)
        (project.root / "stacks" / "gateway" / "Dockerfile").write_text(DOCKERFILE)
        tests = project.root / "tests" / "integration" / "base" / "test_it.py"
        tests.write_text(toy.TESTS + TRIES_TO_GET_OUT)
        return "docker:gateway"

    yield write
    built.remove(engine, built.of(engine, "gateway"))


@pytest.mark.parametrize(
    ("hands_on", "said"),
    [("X-Provider-Data", "ids: forwarded by the stack (X-Provider-Data)"), ("", "ids: announced, so tests run one")],
)
def test_it_records_and_replays_and_gets_out_nowhere_else(
    project: Any, provider: Any, gateway: Any, hands_on: str, said: str
) -> None:
    stack = gateway(hands_on=hands_on)
    recorded = project.run("--stack-config", stack, "--inference-mode", "record")
    assert recorded.code == 0, recorded.output
    assert said in recorded.output
    assert "11 recorded" in recorded.output
    urls = {json.loads(path.read_text())["request"]["url"] for path in (project.root / "recordings").rglob("*.json")}
    assert urls == {"{PROBE_URL}/answers"}
    provider.stop()
    replayed = project.run("--stack-config", stack)
    assert replayed.code == 0, replayed.output
    assert "11 replayed, 0 recorded, 0 missed, 0 unused" in replayed.output
    here = project.run("--stack-config", "server:gateway", "--pattern", "not nothing_else")
    assert "11 replayed, 0 recorded, 0 missed" in here.output, here.output


def test_an_engine_elsewhere_is_refused_in_one_sentence(project: Any, gateway: Any) -> None:
    project.environ["STACKPROOF_DOCKER_SHARING"] = "copy"
    refused = project.run("--stack-config", gateway())
    assert refused.code == 4, refused.output
    assert "the edge of docker:gateway needs the folders of the run" in refused.output
