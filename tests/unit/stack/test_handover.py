"""What one cell leaves on the engine for the next: noted before it is made, and never left over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stackproof.errors import DockerError
from stackproof.stack import handover as handovers
from stackproof.stack.engine_records import ContainerState
from stackproof.stack.handover import Handover, Left

LEFT = Left(container="c", network="n", token="t", image="i")


class Engine:
    """An engine that knows whether `c` runs, and notes what it removes."""

    def __init__(self, *, running: bool | None = True, broken: bool = False) -> None:
        self.running, self.broken = running, broken
        self.removed: list[str] = []

    def state(self, name: str) -> ContainerState | None:
        if self.broken:
            raise DockerError(f"no answer about {name}")
        if self.running is None:
            return None
        return ContainerState(running=self.running, code=None, out_of_memory=False, error="", addresses={}, ports={})

    def in_network(self, name: str) -> tuple[str, ...]:
        return (f"what is in {name}",)

    def remove(self, name: str) -> None:
        self.removed.append(name)

    def remove_network(self, name: str) -> None:
        self.removed.append(name)

    def close(self) -> None:
        pass


GONE = ["what is in n", "c", "n"]


def handed(path: Path, engine: Any) -> None:
    """A cell has made a container and leaves it."""
    first = Handover(path, follows=True)
    assert first.take(engine) is None
    first.note(LEFT)
    first.stays = True
    first.end(engine)


def test_the_next_cell_gets_what_was_left(tmp_path: Path) -> None:
    engine: Any = Engine()
    handed(tmp_path / "x.json", engine)
    second = Handover(tmp_path / "x.json", follows=False)
    found = second.take(engine)
    assert found is not None
    assert (found.container, found.uses, found.free) == ("c", 1, False)
    assert engine.removed == []
    second.end(engine)
    assert engine.removed == GONE
    assert not (tmp_path / "x.json").exists()


@pytest.mark.parametrize("running", [False, None], ids=["ended", "removed"])
def test_one_that_does_not_run_is_taken_away(tmp_path: Path, running: bool | None) -> None:
    handed(tmp_path / "x.json", Engine())
    engine: Any = Engine(running=running)
    assert Handover(tmp_path / "x.json", follows=False).take(engine) is None
    assert engine.removed == GONE
    assert not (tmp_path / "x.json").exists()


def test_what_a_killed_cell_had_is_used_by_nobody(tmp_path: Path) -> None:
    Handover(tmp_path / "x.json", follows=True).note(LEFT)
    engine: Any = Engine()
    assert Handover(tmp_path / "x.json", follows=True).take(engine) is None
    assert engine.removed == GONE


def test_an_engine_that_does_not_answer_still_removes_it_at_the_end(tmp_path: Path) -> None:
    handed(tmp_path / "x.json", Engine())
    second = Handover(tmp_path / "x.json", follows=True)
    engine: Any = Engine(broken=True)
    with pytest.raises(DockerError):
        second.take(engine)
    second.end(engine)
    assert engine.removed == GONE


def test_a_run_takes_away_what_its_cells_have_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine()
    monkeypatch.setattr("stackproof.stack.engine.connect", lambda _: engine)
    path = tmp_path / handovers.FOLDER / "x.json"
    path.parent.mkdir()
    handed(path, engine)
    assert handovers.clear(tmp_path, {}) == ()
    assert engine.removed == GONE
    assert not path.exists()


def test_a_run_without_any_asks_no_engine(tmp_path: Path) -> None:
    assert handovers.clear(tmp_path, {"DOCKER_HOST": "unix:///nowhere.sock"}) == ()


def test_an_engine_that_is_gone_is_told(tmp_path: Path) -> None:
    path = tmp_path / handovers.FOLDER / "x.json"
    Handover(path, follows=True).note(LEFT)
    (line,) = handovers.clear(tmp_path, {"DOCKER_HOST": "unix:///nowhere.sock"})
    assert line.startswith("containers of this run are left, the next run removes them: no Docker engine answered at")
    assert path.exists()
