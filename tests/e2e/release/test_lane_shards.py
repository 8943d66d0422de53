"""A lane that two jobs share: each shows its part, and only both together are what one job would have shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.release.conftest import Release, Weighed

MATRIX = """\
version: 1
lanes:
  all:
    description: everything, as two jobs
    triggers: [pull_request]
    cells: {release: {}}
    checks: [claims, types, benchmarks, recordings]
    shards: 2
"""
FILE = "tests/integration/desk/test_desk.py"
TESTS = (
    "test_a_question_gets_an_answer[how much?]",
    "test_a_question_gets_an_answer[how long?]",
    "test_the_desk_is_open",
)
LIBRARY = "desk-local-library-desk"
# One cell that is worth being divided, and one that is not.
TIMINGS = {
    "schema": 1,
    "kind": "timings",
    "cells": {
        "desk": {
            "local": {
                "library:desk": {"start": 1.0, "tests": {FILE: dict.fromkeys(TESTS, 100.0)}},
                "server:desk": {"start": 1.0, "tests": {FILE: dict.fromkeys(TESTS, 1.0)}},
            }
        }
    },
}
LANE = ("-m", "stackproof", "lane", "run", "all", "--timings", "ci/timings.json", "--shard")


@pytest.fixture(scope="module", name="shared")
def _shared(good: Release, tmp_path_factory: pytest.TempPathFactory) -> Release:
    """The good project with a lane in two shards."""
    shared = good.copied(tmp_path_factory.mktemp("shards") / "desk")
    shared.write("ci/timings.json", json.dumps(TIMINGS))
    shared.write("ci/matrix.yaml", MATRIX)
    return shared


@pytest.fixture(scope="module", name="runs")
def _runs(shared: Release) -> tuple[Path, Path]:
    """The run folders of both shards, each of them green."""
    folders = []
    for index in (1, 2):
        done = shared.command(*LANE, f"{index}/2", CI="true")
        assert done.returncode == 0, done.stdout + done.stderr
        assert f"LANE all {index}/2  PASS" in done.stdout
        folders.append(shared.run)
    return folders[0], folders[1]


def weighed(release: Release, *folders: Path) -> Weighed:
    """What `stackproof verdict` makes of these folders, where everything is insisted on."""
    return release._weighed(release.command("-m", "stackproof", "verdict", "--json", *map(str, folders), CI="true"))


def told(folder: Path, name: str) -> dict[str, Any]:
    """A JSON file of a run folder."""
    found: dict[str, Any] = json.loads((folder / name).read_text())
    return found


def test_both_shards_together_have_the_verdict_of_the_release(shared: Release, runs: tuple[Path, Path]) -> None:
    together = weighed(shared, *runs)
    assert (together.code, together.verdict["verdict"]) == (0, "PASS"), together.said
    # The other way round, too.
    assert weighed(shared, *reversed(runs)).code == 0


def test_a_shard_runs_its_pieces_and_says_by_which_plan(runs: tuple[Path, Path]) -> None:
    plans = [told(folder, "plan.json") for folder in runs]
    assert [plan["shard"] for plan in plans] == [{"index": 1, "total": 2}, {"index": 2, "total": 2}]
    assert {plan["lane"] for plan in plans} == {"all"}
    assert len({plan["plan_digest"] for plan in plans}) == 1
    names = [[piece["name"] for piece in plan["pieces"]] for plan in plans]
    # The longest first, and all the rest beside the shorter part.
    assert names == [[LIBRARY], [LIBRARY, "desk-local-server-desk", "claims", "types", "benchmarks", "recordings"]]
    assert [sorted(path.name for path in (folder / "cells").iterdir()) for folder in runs] == [
        [f"{LIBRARY}.1of2"], [f"{LIBRARY}.2of2", "desk-local-server-desk"],
    ]  # fmt: skip
    own = [
        told(folder / "cells" / f"{LIBRARY}.{index}of2", "shard.json")["own"] for index, folder in enumerate(runs, 1)
    ]
    assert own == [2, 1]
    lanes = [told(folder, "lane.json") for folder in runs]
    assert [lane["shard"] for lane in lanes] == [plan["shard"] for plan in plans]
    (rule,) = (each for each in lanes[0]["part"]["rules"] if each["id"] == f"cell:{LIBRARY}")
    assert rule["title"] == "desk × local × library:desk · shard 1/2"
    assert f"cells/{LIBRARY}.1of2/result.json" in rule["evidence"]
    assert lanes[0]["part"]["started"] is not None


def test_without_one_of_them_what_is_missing_is_named(shared: Release, runs: tuple[Path, Path]) -> None:
    first, second = (weighed(shared, folder) for folder in runs)
    assert (first.code, second.code) == (7, 7)
    assert "shard 2/2" in first.line(f"cell:{LIBRARY}")
    assert "shard 1/2" in second.line(f"cell:{LIBRARY}")
    assert first.line("cell:desk-local-server-desk").startswith("NOT PROVEN: not proven: it did not run")


def test_a_shard_with_nothing_left_is_green_and_proves_nothing(shared: Release) -> None:
    done = shared.command(*LANE, "9/9", CI="true")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all of the lane is in the other shards: nothing is left for this one" in done.stdout
    assert weighed(shared, shared.run).code == 7


def test_a_part_fails_by_what_its_own_tests_do(shared: Release, tmp_path: Path) -> None:
    broken = shared.copied(tmp_path / "desk")
    broken.write(FILE, (broken.root / FILE).read_text().replace("== 200", "== 201", 1))
    done = broken.command(*LANE, "1/2", CI="true")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "LANE all 1/2  FAIL" in done.stdout
    assert "again: " in done.stdout
    assert "stackproof lane run all --shard 1/2 --timings ci/timings.json" in done.stdout
    assert told(broken.run, "lane.json")["exit_code"] == 1
