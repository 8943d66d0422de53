"""What a task tells of itself while its shard runs."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from stackproof.options import RunOptions
from stackproof.swarm import task
from stackproof.swarm.order import Order


class Told:
    """A way to nowhere. arrives: whether what is told arrives."""

    def __init__(self, *, arrives: bool = True) -> None:
        self.arrives, self.said = arrives, list[Mapping[str, Any]]()

    def sign(self, said: Mapping[str, Any]) -> bool:
        self.said.append(said)
        return self.arrives


def written(cell_dir: Path, *events: Mapping[str, Any]) -> None:
    with (cell_dir / "tests.jsonl").open("a") as file:
        file.writelines(json.dumps(event) + "\n" for event in events)


def test_signs_say_how_far_it_is_and_the_last_one_is_of_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task, "_QUIET", 600.0)
    told = Told()
    signs = task.Signs(cast("Any", told), tmp_path, every=0.01)
    written(tmp_path, {"event": "collected", "nodeids": ["a", "b", "c"]})
    signs.start()
    deadline = time.monotonic() + 60
    while not (told.said and told.said[-1]["total"]) and time.monotonic() < deadline:
        time.sleep(0.01)
    written(
        tmp_path,
        {"event": "test", "nodeid": "a", "outcome": "passed"},
        {"event": "test", "nodeid": "b", "outcome": "failed"},
        {"event": "test", "nodeid": "c", "outcome": "skipped", "reason": "never"},
    )
    signs.stop()
    assert told.said[-1] == {"phase": "running", "total": 3, "done": 3, "failed": 1, "skipped": 1}
    # What has not changed is not told again so soon.
    assert len(told.said) == len({json.dumps(said) for said in told.said})


def test_a_sign_that_did_not_arrive_is_told_again(tmp_path: Path) -> None:
    told = Told(arrives=False)
    signs = task.Signs(cast("Any", told), tmp_path, every=0.01)
    signs.start()
    deadline = time.monotonic() + 60
    while len(told.said) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    signs.stop()
    assert len(told.said) >= 3


def test_who_is_the_caller_already_stays_who_he_is(tmp_path: Path) -> None:
    order = Order(
        run_id="7f3c2a", project=tmp_path, pieces=(RunOptions(),), every=1.0, owner=(os.getuid(), os.getgid())
    )
    assert task._become(order) == {}
    assert list(tmp_path.iterdir()) == []
