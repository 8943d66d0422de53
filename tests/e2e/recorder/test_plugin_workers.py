"""A stack with a worker that it makes at its start: each test's job is recorded, and replayed, as that test's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.recorder.conftest import Probe, Project


@pytest.mark.parametrize("stack", ["library", "server"])
def test_a_job_belongs_to_the_test_that_put_it_into_the_queue(project: Project, probe: Probe, stack: str) -> None:
    project.test("""
def test_a(ask):
    assert ask("from a", to="queued").json()["text"].endswith("from a")

def test_b(ask):
    assert ask("from b", to="queued").json()["text"].endswith("from b")
    assert ask("b again", to="queued").json()["text"].endswith("b again")
""")
    recorded = project.pytest("record", stack=stack)
    assert recorded.code == 0, recorded.out
    assert recorded.has("3 recorded", "3 files written")
    assert "late" not in recorded.out
    assert sorted(project.recordings()) == [
        "test_it.py::test_a from a",
        "test_it.py::test_b b again",
        "test_it.py::test_b from b",
    ]
    for picked in ((), ("tests/integration/test_it.py::test_b",)):
        replayed = project.pytest("replay", *picked, stack=stack)
        assert replayed.code == 0, replayed.out
        assert replayed.has("0 missed, 0 unused")
    assert len(probe.asked) == 3
