"""Shards of a cell are weighed as the cell: what is missing is named, what is there twice counts once."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from stackproof.evidence import jsonfile
from stackproof.evidence.gather import gather
from stackproof.verdict.records import State

if TYPE_CHECKING:
    from tests.unit.verdict.conftest import Project
from tests.unit.verdict.shards.conftest import BAD, LIBRARY, ONE, TITLE, TWO, doubts, found, rewritten, shard, weigh


def owner(test: str, shards: list[Path]) -> int:
    """Which of them has that test."""
    (at,) = [at for at, each in enumerate(shards) if test in next(each.glob("cells/*/tests.jsonl")).read_text()]
    return at


def test_shards_of_many_runs_prove_what_one_run_would(project: Project, three: list[Path], beside: Path) -> None:
    verdict = weigh(project, *three, beside)
    assert verdict.state is State.PASS, [rule.summary for rule in verdict.rules]
    assert "put together from 3 shards of 3" in found(verdict)
    assert [rule.id for rule in verdict.rules if LIBRARY in rule.id] == [f"cell:{LIBRARY}"]


def test_shards_within_one_run_do_too(project: Project) -> None:
    run = project.run()
    for index in (1, 2, 3):
        run.cell("library:reference", shard=f"{index}/3")
    run.cell("server:reference")
    run.checks()
    run.finish()
    verdict = weigh(project, run.folder)
    assert verdict.state is State.PASS
    (said,) = found(verdict, "evidence")
    assert said.startswith("at least 161 s (the longest on one clock)")
    assert said.endswith(", 644 s of cells in all")


def test_a_missing_shard_is_named_with_what_runs_it_again(project: Project, three: list[Path], beside: Path) -> None:
    verdict = weigh(project, three[0], three[2], beside)
    assert verdict.state is State.NOT_PROVEN
    assert doubts(verdict)[0] == f"shard 2/3 of {TITLE} is missing"
    assert verdict.again == ("nox -s integration -- --stack-config library:reference --shard 2/3",)


def test_the_run_that_should_have_it_is_named(project: Project, three: list[Path], beside: Path) -> None:
    shutil.rmtree(next((three[1] / "cells").iterdir()))
    verdict = weigh(project, *three, beside)
    assert doubts(verdict)[0] == f"shard 2/3 of {TITLE} is missing: run {three[1].name} should have it"
    planned = project.run()
    jsonfile.write(planned.folder / "plan.json", {"cells": [{"id": f"{LIBRARY}.2of3"}]})
    planned.finish()
    verdict = weigh(project, three[0], three[2], planned.folder, beside)
    assert doubts(verdict)[0] == f"shard 2/3 of {TITLE} is missing: run {planned.run_id} should have it"


def test_of_very_many_missing_ones_not_all_are_named(project: Project, beside: Path) -> None:
    verdict = weigh(project, shard(project, "1/4096"), beside)
    assert f"4,045 more shards of {TITLE} are missing" in doubts(verdict)
    assert len(verdict.again) == 8


def test_the_same_shard_in_two_folders_counts_once(
    project: Project, three: list[Path], beside: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(three[1], tmp_path / "copy")
    verdict = weigh(project, *three, copy, beside)
    assert verdict.state is State.PASS
    texts = found(verdict, "evidence")
    assert f"cells/{LIBRARY}.2of3 is the same in {three[1].name} and copy and counts once" in texts


def test_a_shard_that_ran_twice_counts_once(project: Project, three: list[Path], beside: Path) -> None:
    again = shard(project, "2/3")
    verdict = weigh(project, *three, again, beside)
    assert verdict.state is State.PASS, doubts(verdict)
    assert f"shard 2/3 ran in {three[1].name} and in {again.name}, and counts once" in found(verdict)
    assert gather([*three, again, beside]).cells[LIBRARY].report.counts.total == 3


@pytest.mark.parametrize("late", [False, True])
def test_a_failure_is_not_made_good_by_running_the_shard_again(
    project: Project, three: list[Path], beside: Path, late: bool
) -> None:
    at = owner(ONE, three)
    which = f"{at + 1}/3"
    if late:
        other = shard(project, which, BAD)
    else:
        other, three[at] = three[at], shard(project, which, BAD)
    verdict = weigh(project, *three, other, beside)
    assert verdict.state is State.FAIL
    assert any("it is flaky, and the worse counts" in text for text in found(verdict))
    assert any(text.startswith(f"{ONE} failed") for text in found(verdict, state=State.FAIL))


def test_a_shard_whose_node_died_is_made_good_by_another_run(project: Project, three: list[Path], beside: Path) -> None:
    at = owner(ONE, three)
    died = shard(project, f"{at + 1}/3", finished=False)
    next(died.glob("cells/*/result.json")).unlink()
    next(died.glob("cells/*/junit.xml")).unlink()
    rewritten(project, died)
    assert weigh(project, *(each for each in three if each is not three[at]), died, beside).state is State.NOT_PROVEN
    verdict = weigh(project, *three, died, beside)
    assert verdict.state is State.PASS, [rule.summary for rule in verdict.rules]
    assert any("did not end in" in text for text in found(verdict))


def test_a_test_in_which_a_session_died_is_flaky_where_it_passed_again(
    project: Project, three: list[Path], beside: Path
) -> None:
    at = owner(TWO, three)
    died = shard(project, f"{at + 1}/3", finished=False, signal="SIGSEGV")
    log = next(died.glob("cells/*/tests.jsonl"))
    log.write_text("".join(line for line in log.read_text().splitlines(keepends=True) if '"test"' not in line))
    log.with_name("running").write_text(json.dumps({"nodeid": TWO, "attempt": 1}) + "\n")
    result = json.loads(log.with_name("result.json").read_text())
    log.with_name("result.json").write_text(json.dumps({**result, "exit_code": None}))
    rewritten(project, died)
    verdict = weigh(project, *three, died, beside)
    assert verdict.state is State.FAIL
    assert [rule.id for rule in verdict.rules if rule.state is State.FAIL] == ["flaky"]


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize(
    "how", [{"signal": "SIGTERM", "exit_code": 2}, {"finished": False, "exit_code": -11}], ids=["stopped", "crashed"]
)
def test_a_run_that_did_not_end_is_made_good_whichever_of_both_came_first(
    project: Project, beside: Path, how: Mapping[str, Any], before: bool
) -> None:
    first, second = (shard(project, "1/1", **(how if this else {})) for this in (before, not before))
    died = first if before else second
    assert weigh(project, died, beside).state is State.NOT_PROVEN
    verdict = weigh(project, first, second, beside)
    assert verdict.state is State.PASS, doubts(verdict)
    assert any(f"did not end in {died.name}" in text for text in found(verdict))


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize(
    ("how", "state"),
    [
        ({"exit_code": 6}, State.FAIL),
        ({"error": {"kind": "x", "message": "nothing was measured", "exit_code": 7}}, State.NOT_PROVEN),
    ],
    ids=["recordings", "error"],
)
def test_what_is_wrong_with_a_run_beside_its_tests_is_not_made_good_by_another(
    project: Project, beside: Path, how: Mapping[str, Any], state: State, before: bool
) -> None:
    first, second = (shard(project, "1/1", **(how if this else {})) for this in (before, not before))
    assert weigh(project, first if before else second, beside).state is state
    assert weigh(project, first, second, beside).state is state


def test_a_shard_whose_report_names_no_test_proves_nothing(project: Project, three: list[Path], beside: Path) -> None:
    report = next(three[1].glob("cells/*/junit.xml"))
    report.write_text('<testsuites><testsuite name="pytest" tests="0" /></testsuites>')
    rewritten(project, three[1])
    assert doubts(weigh(project, *three, beside)) == ["shard 2/3: its report names no test"]


def test_an_empty_shard_that_does_not_say_so_proves_nothing(project: Project, beside: Path) -> None:
    five = [shard(project, f"{index}/5") for index in range(1, 6)]
    empty = next(each for each in five if "::test_" not in next(each.glob("cells/*/tests.jsonl")).read_text())
    next(empty.glob("cells/*/tests.jsonl")).unlink()
    rewritten(project, empty)
    assert any(text.endswith(": tests.jsonl is missing") for text in doubts(weigh(project, *five, beside)))
