"""Twenty starts in a row leave what was there before the first, on the engine and on this machine."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.e2e.run.docker import standing
from tests.e2e.run.docker.neighbours import PlaceOf

from stackproof import catalog
from stackproof.stack import luggage, stack_container
from stackproof.stack.engine import Engine

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project

STARTS = 20


def start(project: Project, place_of: PlaceOf) -> None:
    """One start of stack `shop`, with a network of its own, until it answers; and its teardown."""
    cell_dir = project.root / "cell"
    cell_dir.mkdir(exist_ok=True)
    with (
        place_of() as where,
        stack_container.server(
            catalog.load(project.root).stack("shop"),
            where,
            variables={"STACKPROOF_INFERENCE_MODE": "live"},
            cell_dir=cell_dir,
            recordings=luggage.recordings(project.root / "recordings", "local", (), "tests/integration"),
            timeout=90,
            say=lambda _: None,
            check=lambda: None,
        ) as handle,
    ):
        assert handle.base_url


def test_many_starts_leave_nothing(
    project: Project, place_of: PlaceOf, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(project.root))
    start(project, place_of)  # the image is built here, and what is imported late is imported
    before = counted(engine)
    for _ in range(STARTS):
        start(project, place_of)
    # A shim ends after its container has gone.
    project.wait_for("the end of the engine's processes", lambda: added(before, counted(engine)) == {})


def counted(engine: Engine) -> Mapping[str, frozenset[str]]:
    return {**standing.on(engine), **standing.here()}


def added(before: Mapping[str, frozenset[str]], after: Mapping[str, frozenset[str]]) -> dict[str, list[str]]:
    """What is there that was not, by kind."""
    found = {kind: sorted(after[kind] - before[kind]) for kind in before}
    return {kind: items for kind, items in found.items() if items}


def test_a_leftover_of_any_kind_is_seen(engine: Engine, contained: Callable[..., str], project: Project) -> None:
    """The counting itself: what it cannot see it cannot miss."""
    before = standing.on(engine)
    network = engine.create_network("stackproof-left-over", labels={}, internal=True)
    volume = engine._client.create_volume("stackproof-left-over")["Name"]
    try:
        after = standing.on(engine)
        assert {kind: sorted(after[kind] - before[kind]) for kind in ("network", "volume")} == {
            "network": ["stackproof-left-over"],
            "volume": ["stackproof-left-over"],
        }
    finally:
        engine.remove_network(network)
        engine._client.remove_volume(volume)
    assert added(before, standing.on(engine)) == {}
    assert Path(project.root).is_dir()
