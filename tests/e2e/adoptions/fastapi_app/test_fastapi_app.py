"""A FastAPI app that asks OpenAI and Anthropic: with a stream, a way out to the other provider, and a refusal.

From nothing to a verdict, by the files and the commands of docs/adoptions/fastapi.md. There are no keys: what has them
in the story asks the real llama.cpp server here, which speaks both formats.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from tests.e2e.adoptions.conftest import Project, files_of, page
from tests.e2e.engine_turn import alone

from stackproof.catalog.records import ServiceSpec
from stackproof.errors import DockerError
from stackproof.stack import engine

pytest.importorskip("fastapi", reason="adoptions need fastapi")

PAGE = "fastapi.md"
STAND_IN = "--provider-service llama-cpp"
RECORD = f"stackproof run --inference-mode record {STAND_IN}"
IN_A_CONTAINER = "stackproof run --stack-config docker:helpdesk"


def described(project: Project) -> None:
    """Say how it starts, whom it calls, and which tests there are."""
    files = files_of(PAGE)
    for name in ("stacks/helpdesk/stack.yaml", "stacks/setups.yaml", "tests/suites.yaml"):
        project.write(name, files[name])


def test_an_app_with_two_providers_is_recorded_replayed_mended_and_judged(
    adopted: Callable[[str], Project], llama_cpp: ServiceSpec
) -> None:
    project = adopted("fastapi_app")
    described(project)

    # Nothing is recorded yet: one command records all of it, and says which keys it wants.
    first = project.type("stackproof run --stack-config library:helpdesk")
    assert first.code == 6
    assert first.has("7 missed", "record all of them: stackproof run --stack-config library:helpdesk")
    keyless = project.type("stackproof run --inference-mode record")
    assert keyless.code == 2
    assert keyless.has("setup 'both' needs OPENAI_API_KEY and ANTHROPIC_API_KEY for record", STAND_IN)
    recorded = project.type(RECORD)
    assert recorded.code == 0
    assert recorded.has("recordings: 7 calls recorded, 7 files written", "PASS  desk × both × server:helpdesk")
    listed = project.type("stackproof recordings list")
    assert listed.has("400          POST /chat/completions", "200  stream  POST /chat/completions", "POST /v1/messages")

    # What was recorded in one way replays in the other, and by pytest alone.
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
    project.write("ci/release.yaml", files_of(PAGE)["ci/release.yaml"])
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
    assert project.never_typed(PAGE) == [IN_A_CONTAINER]


def test_its_image_replays_what_was_recorded_in_this_process(
    adopted: Callable[[str], Project], llama_cpp: ServiceSpec
) -> None:
    base = os.environ.get("STACKPROOF_DOCKER_BASE")
    try:
        engine.connect(os.environ).close()
    except DockerError as error:
        pytest.skip(f"needs docker: {error.message}")
    if not base:
        pytest.skip("needs docker and a base image with Python in STACKPROOF_DOCKER_BASE")
    project = adopted("fastapi_app")
    described(project)
    assert project.type(f"{RECORD} --stack-config library:helpdesk").has("7 files written", "PASS")
    files = files_of(PAGE)
    for name in ("stacks/helpdesk/requirements.txt", "stacks/helpdesk/Dockerfile"):
        project.write(name, files[name])
    (docker,) = (line for line in page(PAGE).splitlines() if line.startswith("docker: {"))
    project.change(
        "stacks/helpdesk/stack.yaml", "modes: [library, server]", f"modes: [library, server, docker]\n{docker}"
    )
    with alone():
        ran = project.type(f"env STACKPROOF_DOCKER_BASE={base} {IN_A_CONTAINER}")
    assert ran.has(
        "7 replayed, 0 recorded, 0 missed, 0 unused; sealed (network namespace)", "PASS  desk × both × docker"
    )
