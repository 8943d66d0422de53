"""A LangChain agent with a tool, streams and embeddings: a plain package with tests of its own, and no server.

From its own tests to a verdict, by the files and the commands of docs/adoptions/langchain.md. There is no key: what has
one in the story asks the real llama.cpp server here, whose scripted model calls the tool.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.e2e.adoptions.conftest import Project, files_of

from stackproof.catalog.records import ServiceSpec

pytest.importorskip("langchain", reason="adoptions need langchain")
pytest.importorskip("langchain_openai", reason="adoptions need langchain-openai")

PAGE = "langchain.md"
RECORD = "stackproof run --inference-mode record --provider-service llama-cpp"


def test_a_package_without_a_server_is_recorded_replayed_mended_and_judged(
    adopted: Callable[[str], Project], llama_cpp: ServiceSpec
) -> None:
    project = adopted("langchain_chain")
    assert project.type("pytest").has("1 passed, 3 skipped")

    # One file says which tests they are; a project that describes no stack is a package, which tests import.
    files = files_of(PAGE)
    project.write("tests/suites.yaml", files["tests/suites.yaml"])
    assert project.type("stackproof run --dry-run").has("guide", "gpt", "library:package")

    # Three more lines give it a name of its own, and the model that stands in for OpenAI's.
    project.write("stacks/travelguide/stack.yaml", files["stacks/travelguide/stack.yaml"])
    recorded = project.type(RECORD)
    assert recorded.code == 0
    assert recorded.has("recordings: 6 calls recorded, 6 files written", "PASS  guide × gpt × library:travelguide")

    # From now on without a key, a network or another command.
    assert project.type("pytest").has("4 passed", "provider calls: 6 replayed, 0 recorded, 0 missed, 0 unused")

    # Another question is a miss, which says what differs and how to mend it.
    project.change("tests/test_agent.py", 'ask("What is the weather in Paris?")', 'ask("Is it warm in Paris?")')
    project.change("tests/test_agent.py", '== "What is the weather in Paris?"', '== "Is it warm in Paris?"')
    missed = project.type("pytest")
    assert missed.code == 1
    assert missed.has("3 passed", "1 missed", 'recorded "What is the weather in Paris?"   sent "Is it warm in Paris?"')
    (command, *_) = (line.partition("record it: ")[2] for line in missed.text.splitlines() if "record it: " in line)
    assert project.type(f"{command} --provider-service llama-cpp").has("2 files written", "PASS")
    # Traces of LangChain's own, which go to its makers, are not sent from a replay.
    traced = project.type("env LANGSMITH_TRACING=true LANGSMITH_API_KEY=lsv2_of_nobody pytest -p langsmith_plugin")
    assert traced.has("4 passed", "6 replayed", "0 missed, 2 unused")
    assert project.type("stackproof recordings prune").has("2 files removed of 1 test")

    # Not green without evidence, nor without anybody who says what evidence is wanted.
    assert project.type("stackproof verify-release").has("there is no ci/release.yaml", "stackproof init")
    project.write("ci/release.yaml", files["ci/release.yaml"])
    project.commit()
    unproven = project.type("stackproof verify-release")
    assert unproven.code == 7
    assert unproven.has("NOT PROVEN", "does not say which tests must run (stackproof policy update)")
    assert project.type("stackproof policy update").has("4 tests, 0 skipped")
    project.commit()
    judged = project.type("stackproof verify-release")
    assert judged.code == 0
    assert judged.has("RELEASE VERDICT  PASS", "4 passed, as expected", "6 calls replayed, 0 missed, 0 unused")
    assert project.recordings() == 6
    assert project.never_typed(PAGE) == []

    # Somebody takes the recordings of a test out: what was green is not.
    assert project.type("git rm -r --quiet recordings").code == 0
    project.commit()
    lost = project.type("stackproof verify-release")
    assert lost.code not in (0, 7)
    assert lost.has("RELEASE VERDICT  FAIL", "record all of them: stackproof run")
