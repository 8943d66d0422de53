"""What shards of a lane say of their plan: which are missing, and that they went by one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stackproof.evidence import lane_plans
from stackproof.evidence.gather import gather


def told(folder: Path, *shards: tuple[str, Any, str]) -> list[str]:
    """What is said of run folders with these lanes, shards and digests; they are called after their number."""
    for number, (lane, shard, digest) in enumerate(shards, 1):
        plan = {"schema": 1, "kind": "lane", "lane": lane, "shard": shard, "plan_digest": digest}
        (folder / str(number)).mkdir(exist_ok=True)
        (folder / str(number) / "plan.json").write_text(json.dumps(plan))
    return list(lane_plans.notes((str(number), folder / str(number)) for number in range(1, len(shards) + 1)))


def of(index: int, total: int) -> dict[str, int]:
    return {"index": index, "total": total}


def test_of_whole_lanes_and_of_all_shards_by_one_plan_nothing_is_said(tmp_path: Path) -> None:
    assert told(tmp_path, ("one", of(2, 2), "a" * 64), ("one", of(1, 2), "a" * 64), ("two", None, "")) == []
    assert list(lane_plans.notes([("gone", tmp_path / "gone")])) == []


def test_shards_that_nobody_brought_are_named(tmp_path: Path) -> None:
    assert told(tmp_path, ("one", of(2, 3), "a" * 64)) == ["of lane one no folder is of shard 1/3, 3/3"]
    (many,) = told(tmp_path, ("one", of(2, 4096), "a" * 64))
    assert many.endswith(", 20/4096, 21/4096 and 4,075 more")


@pytest.mark.parametrize(("used", "missing"), [(2, []), (3, ["3/4"]), (9, ["3/4, 4/4"]), ("2", ["3/4, 4/4"])])
def test_shards_that_have_nothing_to_do_are_not_missed(tmp_path: Path, used: object, missing: list[str]) -> None:
    told(tmp_path, ("one", of(1, 4), "a" * 64), ("one", of(2, 4), "a" * 64))
    for path in tmp_path.glob("*/plan.json"):
        path.write_text(json.dumps({**json.loads(path.read_text()), "in_use": used}))
    found = list(lane_plans.notes((number, tmp_path / number) for number in ("1", "2")))
    assert found == [f"of lane one no folder is of shard {each}" for each in missing]


def test_shards_by_different_plans_are_told_with_their_folders(tmp_path: Path) -> None:
    (note,) = told(tmp_path, ("one", of(1, 2), "a" * 64), ("one", of(2, 2), "b" * 64))
    head = "shards of lane one went by different plans, so something may have run twice or never: "
    assert note == f"{head}1/2 in 1 by {'a' * 12}; 2/2 in 2 by {'b' * 12}"


def test_lanes_and_totals_are_told_apart(tmp_path: Path) -> None:
    assert told(tmp_path, ("one", of(1, 1), "a"), ("two", of(1, 1), "b"), ("one", of(2, 2), "c")) == [
        "of lane one no folder is of shard 1/2"
    ]


@pytest.mark.parametrize("shard", [of(3, 2), of(0, 2), {"index": "1", "total": 2}, {"index": 1}, 5, of(1, 10**9)])
def test_what_is_no_shard_is_not_believed(tmp_path: Path, shard: object) -> None:
    assert told(tmp_path, ("one", shard, "a")) == []


def test_whoever_gathers_run_folders_is_told(tmp_path: Path) -> None:
    told(tmp_path, ("one", of(1, 3), "a" * 64), ("one", of(2, 3), "b" * 64))
    both = gather([tmp_path / "1", tmp_path / "2"])
    assert any(note == "of lane one no folder is of shard 3/3" for note in both.notes)
    assert any(note.startswith("shards of lane one went by different plans") for note in both.notes)
    assert "of lane one no folder is of shard 2/3, 3/3" in gather([tmp_path / "1"]).notes
