"""A swarm of three real engines on this machine. What a test does to them is undone, and it may leave nothing there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.swarm.swarm_engines import COUNT, SwarmEngines, lacking, left_by_killed_tests, started

_PREFIX = "sp-swarm-"


@pytest.fixture(scope="session")
def engines_of_swarm() -> Iterator[SwarmEngines]:
    """Three engines; the base image is on the manager alone."""
    lacks = lacking(os.environ)
    if lacks:
        pytest.skip(f"a swarm of three engines needs {lacks}")
    place = Path(tempfile.gettempdir())
    left_by_killed_tests(place, _PREFIX)
    with started(place / f"{_PREFIX}{os.getpid()}", os.environ["STACKPROOF_DOCKER_BASE"]) as made:
        yield made


@pytest.fixture
def swarm(engines_of_swarm: SwarmEngines) -> Iterator[SwarmEngines]:
    """The three of them, whole, for one test."""
    yield engines_of_swarm
    engines_of_swarm.restore()
    engines_of_swarm.nothing_is_left()


@pytest.fixture
def everywhere(swarm: SwarmEngines) -> None:
    """All nodes have the base image."""
    for number in range(2, COUNT + 1):
        if not swarm.has(number, swarm.base):
            with swarm.engine(number) as engine:
                engine.load(swarm.manager.saved(swarm.base))
