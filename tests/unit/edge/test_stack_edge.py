"""What an edge says of itself to the run around it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.edge.test_wiring import CELL, PLACES

from stackproof.edge import places, probe, stack_edge
from stackproof.errors import UsageError
from stackproof.evidence import jsonfile


def find(folder: Path, *, workers: str | None = None) -> probe.Found:
    return stack_edge.find_ids(
        CELL, PLACES, base_url="http://127.0.0.1:1", variables={}, cell_dir=folder, workers=workers, check=lambda: None
    )


def test_what_was_found_is_written_down_for_the_tests(tmp_path: Path) -> None:
    assert find(tmp_path, workers="0").serial
    assert jsonfile.read(tmp_path / places.FILE) == {
        "url": "http://127.0.0.1:4000", "ids": "announced", "why": "its stack.yaml has no probe", "serial": True,
    }  # fmt: skip


def test_tests_that_could_not_be_told_apart_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="so its tests run one after the other") as caught:
        find(tmp_path, workers="4")
    assert (caught.value.hint or "").startswith("leave --workers 4 out; or have the stack send its id header")


def test_what_went_wrong_is_one_line(tmp_path: Path) -> None:
    log, said = tmp_path / "edge.log", list[str]()
    stack_edge.tell(log, said.append)
    log.write_text("some library's line\n")
    stack_edge.tell(log, said.append)
    assert said == []
    log.write_text("stackproof edge: GET /a: no\nsome library's line\nstackproof edge: GET /b: nor that\n")
    stack_edge.tell(log, said.append)
    assert said == [f"edge: 2 calls went wrong, the last: GET /b: nor that   log {log}"]
