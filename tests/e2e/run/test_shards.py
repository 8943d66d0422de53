"""Shards of a run by the real command: together they are the run, and each says which part it was."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project

TESTS = """
import pytest, time

@pytest.fixture(scope="module")
def dear(): return object()

@pytest.mark.parametrize("n", range(5))
def test_many(n): pass

def test_first(dear): pass

def test_second(dear): pass

@pytest.mark.skip(reason="not today")
def test_skipped(): pass
"""


# Which test comes first, and so waits for the session's fixture, is another matter in each shard.
SLOW = """
import pytest, time

@pytest.fixture(scope="session", autouse=True)
def dear(): time.sleep(1)

@pytest.mark.parametrize("seconds", [0, 0, 0, 2, 0, 0])
def test_waits(seconds): time.sleep(seconds)
"""


def left(cell_dir: Path, name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((cell_dir / name).read_text())
    return content


def ran(cell_dir: Path) -> list[str]:
    events = map(json.loads, (cell_dir / "tests.jsonl").read_text().splitlines())
    return [event["nodeid"].partition("::")[2] for event in events if event["event"] == "test"]


def test_over_all_shards_each_test_runs_once_and_each_shard_says_which_it_was(project: Project) -> None:
    project.tests(TESTS)
    tests: Counter[str] = Counter()
    parts = []
    for index in (1, 2):
        # With workers and without: whoever collects divides alike.
        done = project.run("--shard", f"{index}/2", "--together", "fixture:dear", *(("-n", "2") if index == 2 else ()))
        assert done.code == 0, done.output
        cell_dir = project.cell_dir()
        assert cell_dir.name == f"base-local-server-toy.{index}of2"
        part, result = left(cell_dir, "shard.json"), left(cell_dir, "result.json")
        assert result["cell"]["whole"] == part["whole"] == "base-local-server-toy"
        assert result["cell"]["shard"] == {"index": index, "total": 2}
        assert f"shard {index}/2: {part['own']} of 8 tests (no times are known: by number)" in done.output
        assert left(project.run_dir(), "manifest.json")["files"][f"cells/{cell_dir.name}/shard.json"]["kind"] == "shard"
        here = ran(cell_dir)
        assert len(here) == part["own"]
        assert ("test_first" in here) == ("test_second" in here)
        tests += Counter(here)
        parts.append(part)
    assert set(tests.values()) == {1}
    assert len(tests) == 8
    assert parts[0]["partition"] == parts[1]["partition"]


def test_a_shard_that_fails_says_how_to_run_it_again_and_an_empty_one_is_no_failure(project: Project) -> None:
    project.tests("def test_sums():\n    assert 1 + 1 == 3\n")
    done = {index: project.run("--shard", f"{index}/2") for index in (1, 2)}
    assert sorted(each.code for each in done.values()) == [0, 1]
    failed = next(index for index, each in done.items() if each.code)
    assert f"FAIL  base × local × server:toy · shard {failed}/2 in " in done[failed].output
    assert f"again: stackproof run --shard {failed}/2" in done[failed].output
    assert f"no test is left for shard {3 - failed}/2: there are 1 in all" in done[3 - failed].output


def test_times_of_a_run_balance_the_next_one_and_other_times_are_another_partition(project: Project) -> None:
    project.tests(SLOW)
    assert project.run().code == 0
    written = project.run("--output", "ci/timings.json", program=("-m", "stackproof", "timings"))
    assert "base × local × server:toy" in written.output
    assert "6 times in ci/timings.json" in written.output
    partitions = []
    for more in (("--timings", "ci/timings.json"), ()):
        done = project.run("--shard", "1/2", *more)
        assert done.code == 0, done.output
        partitions.append(left(project.cell_dir(), "shard.json")["partition"])
        if more:
            assert len(ran(project.cell_dir())) in (1, 5)  # the slow one is alone
            assert re.search(r" of 6 tests, about \d+\.\d s of ", done.output)
    assert partitions[0] != partitions[1]


def test_without_the_plugin_nothing_says_that_it_was_divided(project: Project) -> None:
    (project.root / "conftest.py").write_text(
        "import os, pathlib\n"
        "def pytest_sessionfinish():\n"
        "    pathlib.Path(os.environ['STACKPROOF_RUN_DIR'], 'shard.json').unlink()\n"
    )
    done = project.run("--shard", "1/1")
    assert done.code == 7, done.output
    assert "the tests were not divided: nothing says which of them are shard 1/1" in done.output


def test_a_path_of_times_that_is_not_there_ends_it_before_anything_starts(project: Project) -> None:
    done = project.run("--shard", "1/2", "--timings", "ci/none.json")
    assert done.code == 2
    assert "✗ --timings: there is no ci/none.json" in done.output
    assert not list(project.root.glob(".stackproof/runs/*/cells"))
