"""Recordings of a stack on an engine that shares nothing: made, kept, replayed and missed as on this machine."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from tests.e2e.run.docker import asking
from tests.e2e.run.docker.asking import TESTS, Provider, files, outcomes

from stackproof.stack import forwarder, ports, sharing
from stackproof.stack.engine import Engine

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project

FAILS = """
def test_fails():
    assert "fails" in ask("fails")
    assert False
"""


@pytest.fixture
def provider(project: Project) -> Iterator[None]:
    """A provider on this machine, for runs that record."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        project.environ["TOY_URL"] = f"http://127.0.0.1:{server.server_port}/v1"
        yield
        server.shutdown()
        thread.join(timeout=60)


@pytest.fixture
def toy(project: Project, contained: Callable[..., str]) -> str:
    """A stack that asks a provider."""
    contained("distant")
    return asking.write(project, "distant")


@pytest.fixture
def far(project: Project, engine: Engine) -> Iterator[Callable[[bool], None]]:
    """Whether the project's runs find the engine far away, or here."""
    assert engine.endpoint.socket is not None
    port = ports.free_port()
    with forwarder.forwarding(f"127.0.0.1:{port}", str(engine.endpoint.socket)):

        def be(yes: bool) -> None:
            project.environ["DOCKER_HOST"] = f"tcp://127.0.0.1:{port}" if yes else engine.endpoint.url
            project.environ[sharing.VARIABLE] = "copy" if yes else ""

        yield be


@pytest.mark.usefixtures("provider")
def test_what_is_recorded_far_away_is_what_is_recorded_here_and_replays(
    project: Project, toy: str, far: Callable[[bool], None]
) -> None:
    project.tests(TESTS + FAILS)
    far(True)
    done = project.run("--stack-config", toy, "--inference-mode", "record")
    assert done.code == 1, done.output
    assert {name for name, outcome in outcomes(project).items() if outcome != "passed"} == {"test_fails"}
    recorded = files(project)
    # Of the test that failed nothing is kept; what a request put off belongs to its test.
    assert len(recorded) == 7, recorded.keys()
    assert not any("fails" in content for content in recorded.values())
    far(False)
    again = project.run("--stack-config", toy, "--inference-mode", "record")
    assert again.code == 1, again.output
    assert files(project) == recorded
    project.tests(TESTS)
    far(True)
    replayed = project.run("--stack-config", toy)
    assert replayed.code == 0, replayed.output
    assert "7 replayed, 0 recorded, 0 missed, 0 unused; sealed" in replayed.output


def test_a_call_without_a_recording_fails_its_own_test_and_nothing_is_green(
    project: Project, toy: str, far: Callable[[bool], None]
) -> None:
    project.tests(TESTS)
    far(True)
    done = project.run("--stack-config", toy)
    assert done.code == 6, done.output
    # Also the one that takes the error for an answer.
    assert set(outcomes(project).values()) <= {"failed", "error"}
    assert "had no recording" in done.output
    assert "test_swallows" in done.output
