"""Shards that are no parts of one whole, and what is made of all that fit."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from stackproof.cli.main import main
from stackproof.evidence import junit
from stackproof.verdict.records import State

if TYPE_CHECKING:
    from tests.unit.verdict.conftest import Project
from tests.unit.verdict.shards.conftest import (
    BAD,
    GOOD,
    LIBRARY,
    ONE,
    TITLE,
    TWO,
    VISION,
    doubts,
    found,
    rewritten,
    shard,
    weigh,
)


def test_shards_that_divided_the_tests_otherwise_do_not_fit(project: Project, three: list[Path], beside: Path) -> None:
    other = shard(project, "3/3", seconds={ONE: 9.0, TWO: 1.0, VISION: 20.0})
    verdict = weigh(project, three[0], three[1], other, beside)
    assert verdict.state is State.NOT_PROVEN
    assert any("shard 3/3: another division of the tests than the others" in text for text in doubts(verdict))


def test_shards_that_ran_with_other_versions_are_named(project: Project, three: list[Path], beside: Path) -> None:
    changed(three[2], "result.json", {"versions": {"python": "3.99.1", "desk": "2"}})
    rewritten(project, three[2])
    verdict = weigh(project, *three, beside)
    assert verdict.state is State.PASS
    said = [text for text in found(verdict) if "another version of" in text]
    assert "shard 3/3: another version of desk than the others, 2 and not none" in said
    assert any(
        text.startswith("shard 3/3: another version of python than the others, 3.99.1 and not 3.") for text in said
    )


def test_shards_of_two_totals_do_not_fit(project: Project, three: list[Path], beside: Path) -> None:
    verdict = weigh(project, *three, shard(project, "1/2"), beside)
    assert verdict.state is State.NOT_PROVEN
    assert "it is cut in different ways: shard 1/2; shard 1/3, shard 2/3, shard 3/3" in doubts(verdict)


def test_a_whole_cell_beside_its_shards_proves_nothing(project: Project, three: list[Path]) -> None:
    whole = project.good_run()
    verdict = weigh(project, *three, whole.folder)
    assert verdict.state is State.NOT_PROVEN
    assert f"it is there whole, too, in {whole.run_id}, and counts once" in doubts(verdict)


def test_shards_of_another_commit_are_named(project: Project, beside: Path) -> None:
    first = shard(project, "1/3")
    project.commit()
    verdict = weigh(project, first, shard(project, "2/3"), shard(project, "3/3"), beside)
    assert verdict.state is State.NOT_PROVEN
    assert any(text.startswith("shard 1/3: another commit than the others, ") for text in doubts(verdict))


def test_more_shards_than_tests_leave_some_empty(project: Project, beside: Path) -> None:
    five = [shard(project, f"{index}/5") for index in range(1, 6)]
    assert weigh(project, *five, beside).state is State.PASS
    empty = next(each for each in five if "::test_" not in next(each.glob("cells/*/tests.jsonl")).read_text())
    lacking = weigh(project, *(each for each in five if each is not empty), beside)
    assert lacking.state is State.NOT_PROVEN
    alone = weigh(project, empty, beside)
    assert alone.state is State.NOT_PROVEN
    assert "no test ran" in doubts(alone)


def test_a_sum_that_is_not_the_whole_is_said(project: Project, three: list[Path], beside: Path) -> None:
    for each in three:
        file = next(each.glob("cells/*/shard.json"))
        file.write_text(json.dumps({**json.loads(file.read_text()), "tests": 4}))
        rewritten(project, each)
    assert "its shards collected 3 tests, and the whole has 4" in doubts(weigh(project, *three, beside))


@pytest.mark.parametrize("file", ["result.json", "shard.json", "tests.jsonl", "junit.xml"])
def test_a_damaged_shard_is_not_a_missing_one(project: Project, three: list[Path], beside: Path, file: str) -> None:
    next(three[1].glob(f"cells/*/{file}")).write_text("{")
    verdict = weigh(project, *three, beside)
    assert verdict.state is State.NOT_PROVEN
    assert not any("is missing:" in text or text.endswith("is missing") for text in doubts(verdict))
    assert f"cells/{LIBRARY}.2of3/{file} in {three[1].name} was changed after the run" in doubts(verdict)
    rewritten(project, three[1])
    assert any(text.startswith("shard 2/3: ") for text in doubts(weigh(project, *three, beside)))


def changed(run: Path, file: str, content: Mapping[str, Any]) -> None:
    """Put `content` into the JSON file of the only cell of a run."""
    path = next(run.glob(f"cells/*/{file}"))
    path.write_text(json.dumps({**json.loads(path.read_text()), **content}))


def test_a_shard_whose_own_files_call_it_another_is_said(project: Project, three: list[Path], beside: Path) -> None:
    names = json.loads(next(three[1].glob("cells/*/result.json")).read_text())["cell"]
    changed(three[1], "result.json", {"cell": {**names, "shard": None}})
    rewritten(project, three[1])
    said = "shard 2/3: shard.json says that it is a shard, and result.json does not"
    assert doubts(weigh(project, *three, beside)) == [said]
    # Both alike, and yet not what it was when its folder was made.
    changed(three[1], "result.json", {"cell": {**names, "shard": {"index": 1, "total": 3}}})
    changed(three[1], "shard.json", {"index": 1})
    rewritten(project, three[1])
    said = f"shard 1/3: its folder is called {LIBRARY}.2of3"
    assert any(text == said for text in doubts(weigh(project, three[1], three[2], beside)))


@pytest.mark.parametrize("total", [10**6 + 1, 10**12])
def test_more_shards_than_there_can_be_are_not_waited_for(
    project: Project, three: list[Path], beside: Path, total: int
) -> None:
    names = json.loads(next(three[1].glob("cells/*/result.json")).read_text())["cell"]
    changed(three[1], "result.json", {"cell": {**names, "shard": {"index": 2, "total": total}}})
    changed(three[1], "shard.json", {"total": total})
    rewritten(project, three[1])
    assert weigh(project, *three, beside).state is State.NOT_PROVEN


def test_a_shard_whose_manifest_is_gone_counts_as_damaged(project: Project, three: list[Path], beside: Path) -> None:
    (three[1] / "manifest.json").write_text("{")
    verdict = weigh(project, *three, beside)
    assert verdict.state is State.NOT_PROVEN
    assert found(verdict, "evidence", State.NOT_PROVEN) == [f"{three[1].name} has no manifest that can be read"]
    assert doubts(verdict) == []


def test_a_report_that_was_copied_from_another_shard_is_seen(project: Project, three: list[Path], beside: Path) -> None:
    first, second = (next(each.glob("cells/*")) for each in three[:2])
    for name in ("junit.xml", "tests.jsonl"):
        shutil.copyfile(first / name, second / name)
    rewritten(project, three[1])
    verdict = weigh(project, *three, beside)
    assert verdict.state is State.NOT_PROVEN
    assert any("of its tests are in another part, too" in text for text in doubts(verdict))


@pytest.mark.parametrize("used", [True, False])
def test_a_recording_of_a_fixture_is_unused_where_no_shard_used_it(
    project: Project, three: list[Path], beside: Path, used: bool
) -> None:
    file = "ollama/base/0123456789ab-0123456789abcdef0123.json"
    second = shard(project, "2/3", calls={"undecided_files": [file]})
    calls = next(three[2].glob("cells/*")) / "calls.jsonl"
    calls.write_text(json.dumps({"kind": "replayed" if used else "missed", "file": f"/there/recordings/{file}"}) + "\n")
    rewritten(project, three[2])
    verdict = weigh(project, three[0], second, three[2], beside)
    assert verdict.state is (State.PASS if used else State.FAIL)
    assert used or found(verdict, "recordings", State.FAIL) == [
        f"1 unused in {LIBRARY}: {file} (stackproof recordings prune)"
    ]
    lacking = weigh(project, second, three[2], beside)
    assert lacking.state is State.NOT_PROVEN


CLOCKS: dict[str, Mapping[str, str]] = {
    "a day ahead": {"started": "2026-12-02T10:00:00+00:00", "stopped": "2026-12-02T10:01:00+00:00"},
    "years back": {"started": "1970-01-01T00:00:10+00:00", "stopped": "1970-01-01T00:01:10+00:00"},
    "backwards": {"started": "2026-12-01T10:00:00+00:00", "stopped": "2026-12-01T07:00:00+00:00"},
    "no time zone": {"started": "2026-12-01T10:00:00", "stopped": "2026-12-01T10:00:01"},
    "no clock": {"started": "", "stopped": "soon"},
}


@pytest.mark.parametrize("clock", CLOCKS)
def test_no_clock_changes_a_verdict(project: Project, three: list[Path], beside: Path, clock: str) -> None:
    skewed = shard(project, "2/3", GOOD, **CLOCKS[clock])
    verdict = weigh(project, three[0], skewed, three[2], beside)
    assert verdict.state is State.PASS, doubts(verdict)
    assert verdict.started is not None
    assert verdict.started.startswith("2026-12-01T10:00")
    assert verdict.times.longest == 161
    assert verdict.times.summed is not None
    assert verdict.times.summed >= 3 * 161
    assert ("ended before it began" in " ".join(found(verdict, "evidence"))) is (clock == "backwards")


def test_the_order_of_folders_changes_nothing(project: Project, three: list[Path], beside: Path) -> None:
    folders = [*three, shard(project, "2/3", BAD), beside]
    assert weigh(project, *folders) == weigh(project, *reversed(folders))


def test_every_output_has_one_cell(
    project: Project, three: list[Path], beside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [str(each) for each in (*three, beside)]
    assert main(["verdict", "--output", "out", *names], environ={}, project=project.folder) == 0
    assert f"✓ {TITLE}" in capsys.readouterr().out
    out = project.folder / "out"
    suites = junit.read(out / "junit.xml")
    assert suites.problems == ()
    assert sum(case.suite == LIBRARY for case in suites.cases) == 3
    written = json.loads((out / "verdict.json").read_text())
    assert written["results"]["tests"][LIBRARY] == {"passed": sorted([ONE, TWO]), "skipped": [VISION]}
    assert written["times"]["summed_seconds"] == 4 * 161
    report = json.loads((out / "ctrf/report.json").read_text())
    assert sum(test["suite"][0] == LIBRARY for test in report["results"]["tests"]) == 3
    page = (out / "verdict.html").read_text()
    assert "the longest of 3 shards" in page
    assert "2of3" not in page.partition("<script")[0]


def test_what_is_expected_can_be_written_from_shards(
    project: Project, three: list[Path], beside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [str(each) for each in (*three, beside)]
    assert main(["policy", "update", "--dry-run", *names], environ={}, project=project.folder) == 0
    assert capsys.readouterr().out == ""
    assert main(["policy", "update", *names[1:]], environ={}, project=project.folder) == 7
    refused = capsys.readouterr().err
    assert "shard 1/3 is missing, so nobody knows which tests it has" in refused
    assert "name the folders of all its shards" in refused


def test_compared_with_last_time_a_sharded_cell_is_the_same_cell(
    project: Project, three: list[Path], beside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = project.good_run()
    names = [str(each) for each in (*three, beside)]
    command = ["verdict", *names, "--compared-with", run.run_id]
    assert main(command, environ={}, project=project.folder) == 0
    assert "no test or benchmark changed" in capsys.readouterr().out


def test_tests_of_a_missing_shard_are_not_called_removed(
    project: Project, three: list[Path], beside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = project.good_run()
    command = ["verdict", str(three[0]), str(beside), "--compared-with", run.run_id]
    assert main(command, environ={}, project=project.folder) == 7
    shown = capsys.readouterr().out
    assert f"{LIBRARY} is there in part now" in shown
    assert "removed" not in shown
    # And the other way round, with the verdict over the part as what was before.
    assert main(["verdict", "--output", "out", *command[1:3]], environ={}, project=project.folder) == 7
    capsys.readouterr()
    main(["verdict", run.run_id, "--compared-with", "out/verdict.json"], environ={}, project=project.folder)
    shown = capsys.readouterr().out
    assert f"{LIBRARY} was there in part before" in shown
    assert "added" not in shown
