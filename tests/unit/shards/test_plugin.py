"""pytest divides what it collected: each test is one shard's, whatever was picked, marked or named before."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stackproof.shards import left, order
from stackproof.shards.order import ShardOrder
from stackproof.shards.records import Shard

TESTS = """
import pytest

@pytest.fixture(scope="module", params=["red", "blue"])
def store(request): return request.param

@pytest.mark.parametrize("n", range(6))
def test_free(n): pass

def test_stored(store): pass

def test_stored_too(store): pass

class TestThings:
    def test_one(self): pass
    def test_two(self): pass

@pytest.mark.xdist_group("pair")
def test_left(): pass

@pytest.mark.xdist_group(name="pair")
def test_right(): pass
"""


# In one process what the processes of all shards do: each divides a list of its own.
ALL_SHARDS = """
import os, pathlib, pytest
from stackproof.plugin import sharding

@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    for folder in sorted(pathlib.Path(os.environ["ALL_SHARDS"]).iterdir()):
        own = list(items)
        sharding.divide(config, own, folder)
        (folder / "own").write_text("\\n".join(item.nodeid for item in own))
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    root: Path

    def folder(self, shard: Shard) -> Path:
        return self.root / f"of{shard.total}" / shard.slug

    def order(self, shard: Shard, together: Sequence[str], seconds: Mapping[str, float]) -> None:
        folder = self.folder(shard)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / left.NAME).unlink(missing_ok=True)
        order.write(folder, ShardOrder(shard=shard, whole="whole", together=tuple(together), seconds=seconds))

    def pytest(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """pytest that only collects, with the plugin and nothing else."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("STACKPROOF", "PYTEST"))}
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-pno:cacheprovider", "--collect-only", "-q", *arguments],
            cwd=self.root,
            env={
                **inherited,
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
                "PYTHONPATH": os.pathsep.join(filter(None, [str(self.root), inherited.get("PYTHONPATH")])),
                **environ,
            },
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def collect(self, shard: Shard, *arguments: str) -> tuple[list[str], str]:
        """The tests of one shard as a run with --collect-only writes them down, and what pytest prints."""
        self.order(shard, (), {})
        return self.collect_again(shard, *arguments)

    def collect_again(self, shard: Shard, *arguments: str) -> tuple[list[str], str]:
        log = self.folder(shard) / "tests.jsonl"
        log.unlink(missing_ok=True)
        environ = {"STACKPROOF_CHILD": "1", "STACKPROOF_RECORDER": "{}", "STACKPROOF_RUN_DIR": str(log.parent)}
        done = self.pytest("-p", "stackproof.pytest_plugin", *arguments, **environ)
        found: list[str] = json.loads(log.read_text().splitlines()[0])["nodeids"]
        return found, done.stdout + done.stderr

    def facts(self, shard: Shard) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self.folder(shard) / left.NAME).read_text())
        return content

    def shards(
        self, total: int, *arguments: str, together: Sequence[str] = (), seconds: Mapping[str, float] | None = None
    ) -> list[list[str]]:
        """The tests of all shards, which must agree on what there is."""
        every = [Shard(index=index, total=total) for index in range(1, total + 1)]
        for shard in every:
            self.order(shard, together, seconds or {})
        (self.root / "all_shards.py").write_text(ALL_SHARDS)
        done = self.pytest("-p", "all_shards", *arguments, ALL_SHARDS=str(self.folder(every[0]).parent))
        assert done.returncode in (0, 5), done.stdout + done.stderr
        found = [(self.folder(shard) / "own").read_text().split() for shard in every]
        facts = [self.facts(shard) for shard in every]
        assert len({(each["partition"], each["tests"], each["known"]) for each in facts}) == 1
        assert [each["own"] for each in facts] == [len(tests) for tests in found]
        assert sum(each["own"] for each in facts) == facts[0]["tests"]
        return found


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "tests").mkdir()
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\nmarkers = ["xdist_group(name): together"]\n')
    (tmp_path / "tests" / "test_a.py").write_text(TESTS)
    (tmp_path / "tests" / "test_b.py").write_text("def test_other(): pass\n")
    return Project(root=tmp_path)


def whole(project: Project) -> list[str]:
    return project.shards(1)[0]


def test_each_test_is_in_one_shard_and_they_keep_their_order(project: Project) -> None:
    every = whole(project)
    found = project.shards(3)
    assert sorted(test for tests in found for test in tests) == sorted(every)
    assert len(every) == 15
    for tests in found:
        assert tests == [test for test in every if test in tests]


def test_what_is_picked_is_picked_before_it_is_divided_and_the_rest_is_deselected(project: Project) -> None:
    divided = project.shards(3, "-k", "free")
    assert [len(tests) for tests in divided] == [2, 2, 2]
    found, output = project.collect(Shard(index=2, total=3), "-k", "free")
    assert found == divided[1]
    assert "2/15 tests collected (13 deselected)" in output


def test_more_shards_than_tests_leave_some_empty(project: Project) -> None:
    found = project.shards(4, "-k", "test_other or test_one")
    assert sorted(map(len, found)) == [0, 0, 1, 1]
    assert project.facts(Shard(index=1, total=4))["tests"] == 2


def test_what_belongs_together_stays_so(project: Project) -> None:
    def shard_of(found: list[list[str]], name: str) -> set[int]:
        return {number for number, tests in enumerate(found) for test in tests if name in test}

    found = project.shards(3, together=("class", "fixture:store", "fixture:nothing"))
    assert len(shard_of(found, "TestThings")) == 1
    assert len(shard_of(found, "test_left") | shard_of(found, "test_right")) == 1
    for colour in ("red", "blue"):
        assert len(shard_of(found, f"[{colour}]")) == 1
    assert project.facts(Shard(index=1, total=3))["notes"] == ["no test of whole has a fixture 'nothing'"]


def test_times_balance_the_shards_and_are_part_of_what_was_agreed(project: Project) -> None:
    slow = "tests/test_b.py::test_other"
    seconds = {test: 100.0 if test == slow else 1.0 for test in whole(project)}
    found = project.shards(2, seconds=seconds)
    assert [slow] in found
    agreed = project.facts(Shard(index=1, total=2))
    assert (agreed["known"], agreed["estimated_whole"]) == (15, 114.0)
    project.shards(2, seconds=seconds | {slow: 1.0})
    assert project.facts(Shard(index=1, total=2))["partition"] != agreed["partition"]


def test_a_renamed_test_is_another_one_and_nothing_is_lost(project: Project) -> None:
    seconds = dict.fromkeys(whole(project), 1.0)
    before = project.shards(3, seconds=seconds)
    path = project.root / "tests" / "test_b.py"
    path.write_text(path.read_text().replace("test_other", "test_renamed"))
    after = project.shards(3, seconds=seconds)
    assert project.facts(Shard(index=1, total=3))["known"] == 14
    assert sorted(test for tests in after for test in tests) == sorted(whole(project))
    assert sum(len(set(old) & set(new)) for old, new in zip(before, after, strict=True)) >= 12


def test_workers_that_collected_alike_agree_whatever_the_times(project: Project) -> None:
    shard = Shard(index=1, total=2)
    # Less than a millisecond of them is not in the file that the first worker leaves.
    project.order(shard, (), dict.fromkeys(whole(project), 0.12344))
    first, _ = project.collect_again(shard)
    again, output = project.collect_again(shard)
    assert "do not agree" not in output
    assert again == first


def test_a_worker_that_collected_otherwise_ends_the_run(project: Project) -> None:
    shard = Shard(index=1, total=2)
    assert project.collect(shard)[0]
    # Another worker of the same run, whose list is shorter.
    _, output = project.collect_again(shard, "-k", "not test_other")
    assert "two workers collected different tests, so they do not agree on who runs what in shard 1/2" in output
