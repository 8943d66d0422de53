"""A release whose library cell ran in two shards, each in a run of its own, and faults put into one of them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stackproof.evidence import manifest

if TYPE_CHECKING:
    from tests.e2e.release.conftest import Release, Weighed

LIBRARY = "desk-local-library-desk"
CELL = f"cell:{LIBRARY}"
RUN = ("-m", "stackproof", "run", "--suite", "desk", "--setup", "local", "--stack-config", "library:desk")


@dataclass(frozen=True, kw_only=True, slots=True)
class Sharded:
    """The release, the run that has all else, and those of the shards."""

    release: Release
    rest: str
    shards: tuple[str, ...]

    def folder(self, run: str) -> Path:
        """A run folder."""
        return self.release.root / ".stackproof/runs" / run

    def cell(self, run: str) -> Path:
        """The folder of the one cell of a run."""
        (found,) = self.folder(run).glob("cells/*")
        return found

    def forge(self, run: str) -> None:
        """Write the manifest of a run anew over what is there."""
        manifest.write(self.folder(run), run_id=run, project=self.release.root)

    def weigh(self, *runs: str) -> Weighed:
        """All of these, and the rest of the release."""
        return self.release.weighed(*runs, self.rest)


def run_shard(release: Release, which: str, **variables: str) -> str:
    """Run one shard for itself; the id of its run."""
    before = set(runs_of(release))
    done = release.command(*RUN, "--shard", which, **variables)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    (made,) = set(runs_of(release)) - before
    return made


def runs_of(release: Release) -> Sequence[str]:
    return [path.parent.name for path in release.root.glob(".stackproof/runs/*/manifest.json")]


@pytest.fixture(scope="module", name="made")
def _made(good: Release, tmp_path_factory: pytest.TempPathFactory) -> Sharded:
    release = good.copied(tmp_path_factory.mktemp("shards") / "desk")
    rest = release.run.name
    shutil.rmtree(release.run / f"cells/{LIBRARY}")
    made = Sharded(release=release, rest=rest, shards=())
    made.forge(rest)
    return Sharded(release=release, rest=rest, shards=tuple(run_shard(release, f"{index}/2") for index in (1, 2)))


@pytest.fixture
def sharded(made: Sharded, tmp_path: Path) -> Sharded:
    """A copy of it, for a fault to be put into."""
    return Sharded(release=made.release.copied(tmp_path / "desk"), rest=made.rest, shards=made.shards)


def test_two_shards_and_the_rest_may_be_released(made: Sharded) -> None:
    weighed = made.weigh(*made.shards)
    assert weighed.code == 0, weighed.said
    assert "put together from 2 shards of 2" in weighed.line(CELL)


def test_a_deleted_shard(sharded: Sharded) -> None:
    shutil.rmtree(sharded.folder(sharded.shards[1]))
    weighed = sharded.weigh(sharded.shards[0])
    assert weighed.code == 7
    assert "shard 2/2 of desk × local × library:desk is missing" in weighed.line(CELL)
    again = weighed.verdict["again"]
    assert isinstance(again, list)
    assert any(command.endswith("--shard 2/2") for command in again)


def test_a_shard_that_was_deleted_within_its_run(sharded: Sharded) -> None:
    shutil.rmtree(sharded.cell(sharded.shards[1]))
    weighed = sharded.weigh(*sharded.shards)
    assert weighed.code == 7
    assert f"is missing: run {sharded.shards[1]} should have it" in weighed.line(CELL)


def test_a_doubled_shard(sharded: Sharded) -> None:
    shutil.copytree(sharded.folder(sharded.shards[0]), sharded.folder("copied"))
    weighed = sharded.weigh(*sharded.shards, "copied")
    assert weighed.code == 0, weighed.said
    assert "counts once" in weighed.line("evidence")


def test_a_shard_of_another_commit(sharded: Sharded) -> None:
    sharded.release.write("desk/news.py", "NEWS: list[str] = []\n")
    second = run_shard(sharded.release, "2/2")
    weighed = sharded.weigh(sharded.shards[0], second)
    assert weighed.code == 7
    assert "another commit than the others" in weighed.line(CELL)


def test_an_altered_report_of_one_shard(sharded: Sharded) -> None:
    report = sharded.cell(sharded.shards[1]) / "junit.xml"
    report.write_text(report.read_text().replace("test_", "text_"))
    weighed = sharded.weigh(*sharded.shards)
    assert weighed.code == 7
    assert "junit.xml" in weighed.line("evidence")
    sharded.forge(sharded.shards[1])
    weighed = sharded.weigh(*sharded.shards)
    assert weighed.code == 7
    assert "shard 2/2: " in weighed.line(CELL)


def test_shards_that_were_divided_by_other_timings(sharded: Sharded) -> None:
    # As if the second job had found other times: its part of another division, and its tests with it.
    file = sharded.cell(sharded.shards[1]) / "shard.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "partition": "0" * 64}))
    sharded.forge(sharded.shards[1])
    weighed = sharded.weigh(*sharded.shards)
    assert weighed.code == 7
    assert "another division of the tests than the others" in weighed.line(CELL)


def test_a_clock_that_is_a_day_ahead_and_runs_backwards(sharded: Sharded) -> None:
    file = sharded.cell(sharded.shards[1]) / "result.json"
    moved = {"started": "2099-01-02T10:00:00.000+00:00", "stopped": "2099-01-01T10:00:00.000+00:00"}
    file.write_text(json.dumps({**json.loads(file.read_text()), **moved}))
    sharded.forge(sharded.shards[1])
    weighed = sharded.weigh(*sharded.shards)
    assert weighed.code == 0, weighed.said
    assert "ended before it began, by its clock" in weighed.line("evidence")
    assert not str(weighed.verdict["stopped"]).startswith("2099")


def test_a_failure_that_another_run_of_its_shard_does_not_have(sharded: Sharded) -> None:
    cell = sharded.cell(sharded.shards[1])
    shutil.copytree(sharded.folder(sharded.shards[1]), sharded.folder("late"))
    log, report = cell / "tests.jsonl", cell / "junit.xml"
    log.write_text(log.read_text().replace('"passed"', '"failed"', 1).replace('"exitstatus": 0', '"exitstatus": 1'))
    sharded.forge(sharded.shards[1])
    assert report.read_text()
    weighed = sharded.weigh(*sharded.shards, "late")
    assert weighed.code == 1
    assert "it is flaky, and the worse counts" in weighed.line(CELL)
