"""A FastAPI app that asks OpenAI and Anthropic: with a stream, a way out to the other provider, and a refusal.

From nothing to a verdict, by the commands that its owner types. There are no keys: what has them in the story asks the
real llama.cpp server here, which speaks both formats.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from stackproof.catalog.records import ServiceSpec

if TYPE_CHECKING:
    from tests.e2e.adoptions.conftest import Project

pytest.importorskip("fastapi", reason="adoptions need fastapi")

SETUPS = "both: {combines: [gpt, anthropic]}\n"
STACK = """\
description: Our help desk
modes: [library, server]
python_path: ["../.."]
app: helpdesk.app:create_app
command: ["{python}", "-m", "uvicorn", "--factory", "helpdesk.app:create_app", "--port", "{port}"]
readiness: {path: /health}
env: {HELPDESK_GPT: "smollm2:135m", HELPDESK_CLAUDE: "smollm2:135m"}
"""
SUITES = """\
suites:
  desk: {description: What must work, roots: [tests/integration/desk], default_setup: both}
"""
POLICY = """\
version: 1
cells:
  - {suite: desk, setup: both, stack: "library:helpdesk"}
  - {suite: desk, setup: both, stack: "server:helpdesk"}
"""
STAND_IN = "--provider-service llama-cpp"


def test_an_app_with_two_providers_is_recorded_replayed_mended_and_judged(
    adopted: Callable[[str], Project], llama_cpp: ServiceSpec
) -> None:
    project = adopted("fastapi_app")
    for name, text in (
        ("stacks/setups.yaml", SETUPS),
        ("stacks/helpdesk/stack.yaml", STACK),
        ("tests/suites.yaml", SUITES),
    ):
        project.write(name, text)

    # Nothing is recorded yet: one command records all of it, and says which keys it wants.
    first = project.type("stackproof run --stack-config library:helpdesk")
    assert first.code == 6
    assert first.has("7 missed", "record all of them: stackproof run --stack-config library:helpdesk")
    keyless = project.type("stackproof run --inference-mode record")
    assert keyless.code == 2
    assert keyless.has("setup 'both' needs OPENAI_API_KEY and ANTHROPIC_API_KEY for record", STAND_IN)
    recorded = project.type(f"stackproof run --inference-mode record {STAND_IN}")
    assert recorded.code == 0
    assert recorded.has("recordings: 7 calls recorded, 7 files written", "PASS  desk × both × server:helpdesk")
    listed = project.type("stackproof recordings list")
    assert listed.has("400          POST /chat/completions", "200  stream  POST /chat/completions", "POST /v1/messages")

    # What the server recorded replays in the process of the tests, by the command and by pytest.
    plain = project.type("pytest")
    assert plain.has("5 passed", "provider calls: 7 replayed, 0 recorded, 0 missed, 0 unused")

    # Another question to both is two misses of one test, both told by one command.
    test = "tests/integration/desk/test_desk.py"
    project.change(test, '"/compare", json={"text": "Name a colour."}', '"/compare", json={"text": "Name a bird."}')
    missed = project.type(f"stackproof run --file {test} --pattern both")
    assert missed.code == 6
    assert missed.has('recorded "Name a colour."   sent "Name a bird."', "1 missed")
    (command, *_) = (line.partition("record it: ")[2] for line in missed.text.splitlines() if "record it: " in line)
    assert project.type(f"{command} {STAND_IN}").has("2 recorded", "2 files written", "PASS")
    # Not green with what nobody asks for any more, nor before somebody has said which tests there have to be.
    project.write("ci/release.yaml", POLICY)
    project.commit()
    untidy = project.type("stackproof verify-release")
    assert untidy.code == 6
    assert untidy.has(
        "RELEASE VERDICT  FAIL", "2 unused", "(stackproof recordings prune)", "(stackproof policy update)"
    )
    assert project.type("stackproof recordings prune").has("2 files removed of 1 test")
    assert project.type("stackproof policy update").has("desk-both-server-helpdesk: 5 tests")
    project.commit()
    judged = project.type("stackproof verify-release")
    assert judged.code == 0
    assert judged.has("RELEASE VERDICT  PASS", "library:helpdesk  5 passed, as expected", "server:helpdesk   5 passed")
    assert project.recordings() == 7
