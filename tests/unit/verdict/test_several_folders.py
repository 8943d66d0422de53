"""Several run folders are weighed as one; what is there twice counts once, and more of it makes nothing better."""

from __future__ import annotations

import shutil
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stackproof.cli.main import main
from stackproof.evidence import jsonfile
from stackproof.evidence.gather import gather
from stackproof.evidence.outcomes import Outcome
from stackproof.verdict.records import State, Verdict
from stackproof.verdict.weigh import weigh_evidence

if TYPE_CHECKING:
    from tests.unit.verdict.conftest import Project, Run

LIBRARY = "base-ollama-library-reference"
FILE = "tests/integration/base/test_chat.py"
ONE, TWO, VISION = f"{FILE}::test_one", f"{FILE}::test_two[x]", f"{FILE}::test_vision"


def together(project: Project, *runs: Run) -> Verdict:
    return weigh_evidence(project.folder, gather([run.folder for run in runs]), environ={}, today=date(2026, 12, 1))


def texts(verdict: Verdict, rule: str) -> list[str]:
    return [finding.text for each in verdict.rules if each.id == rule for finding in each.findings]


@pytest.fixture
def halves(project: Project) -> tuple[Run, Run]:
    """One cell in each of two runs; the checks in the first."""
    first, second = project.run(), project.run()
    first.cell("library:reference")
    first.checks()
    second.cell("server:reference", started="2026-12-01T10:01:00+00:00", stopped="2026-12-01T10:04:00+00:00")
    for run in (first, second):
        run.finish()
    return first, second


def test_cells_of_two_machines_prove_what_one_run_would(project: Project, halves: tuple[Run, Run]) -> None:
    found = together(project, *halves)
    assert found.state is State.PASS, [rule.summary for rule in found.rules]
    first, second = halves
    (said,) = texts(found, "evidence")
    assert said.startswith(f"{first.run_id}, {second.run_id}: 2 runs of 1 kind of machine, ")
    assert "at least 180 s (the longest on one clock), 240 s from the first start to the last end if clocks" in said
    assert said.endswith(", 341 s of cells in all")


def test_a_folder_that_is_not_given_leaves_its_cell_missing(project: Project, halves: tuple[Run, Run]) -> None:
    found = together(project, halves[0])
    assert found.state is State.NOT_PROVEN
    assert texts(found, "cell:base-ollama-server-reference") == ["it did not run"]


def test_a_folder_that_is_named_twice_counts_once(project: Project) -> None:
    run = project.good_run()
    found = together(project, run, run)
    assert found.state is State.PASS
    assert texts(found, "evidence") == [f"{run.run_id} is named twice and counts once"]


def test_the_same_evidence_in_two_folders_counts_once_and_is_said(project: Project, tmp_path: Path) -> None:
    run = project.good_run()
    copy = tmp_path / "copy"
    shutil.copytree(run.folder, copy)
    found = weigh_evidence(project.folder, gather([run.folder, copy]), environ={}, today=date(2026, 12, 1))
    assert found.state is State.PASS
    assert f"cells/{LIBRARY} is the same in {run.run_id} and copy and counts once" in texts(found, "evidence")


def test_shards_of_a_cell_are_put_together(project: Project, halves: tuple[Run, Run]) -> None:
    first, second = project.run(), project.run()
    first.cell("library:reference", {ONE: Outcome.PASSED})
    first.finish()
    second.cell("library:reference", {TWO: Outcome.PASSED, VISION: Outcome.SKIPPED})
    second.checks()
    second.finish()
    found = together(project, first, second, halves[1])
    assert found.state is State.PASS, [rule.summary for rule in found.rules]
    assert f"{LIBRARY} is put together from {first.run_id} and {second.run_id}" in texts(found, "evidence")
    missing = together(project, first, halves[1])
    assert f"{TWO} is expected and was not collected" in texts(missing, f"cell:{LIBRARY}")


@pytest.mark.parametrize("turned", [False, True])
def test_a_failure_is_not_made_good_by_another_folder(project: Project, turned: bool) -> None:
    bad = project.run()
    bad.cell("library:reference", {ONE: Outcome.FAILED, TWO: Outcome.PASSED, VISION: Outcome.SKIPPED})
    bad.cell("server:reference")
    bad.checks()
    bad.finish()
    good = project.good_run()
    found = together(project, *((good, bad) if turned else (bad, good)))
    assert found.state is State.FAIL
    assert any(
        text.startswith(f"{LIBRARY} is different in ") and text.endswith("3 tests are in both")
        for text in texts(found, "evidence")
    )


def test_two_measurements_of_the_same_benchmark_prove_nothing(project: Project, halves: tuple[Run, Run]) -> None:
    halves[1].checks(ratio=1.15)
    halves[1].finish()
    found = together(project, *halves)
    assert found.state is State.NOT_PROVEN
    names = " and ".join(run.run_id for run in halves)
    assert f"checks/benchmark.json is different in {names}" in texts(found, "evidence")


def test_a_run_of_another_commit_among_them_is_not_proven(project: Project, halves: tuple[Run, Run]) -> None:
    path = halves[1].folder / "manifest.json"
    content = jsonfile.read(path)
    assert content is not None
    jsonfile.write(path, {**content, "commit": "f" * 40})
    assert together(project, *halves).state is State.NOT_PROVEN


def test_the_command_takes_several_folders_and_says_what_it_put_together(
    project: Project, halves: tuple[Run, Run], capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = halves
    assert main(["verdict", first.run_id, str(second.folder)], environ={}, project=project.folder) == 0
    shown = capsys.readouterr().out
    assert "RELEASE VERDICT  PASS" in shown
    assert f"{first.run_id}, {second.run_id}: 2 runs of 1 kind of machine, at least 180 s" in shown
    assert "2026-12-01 10:03, at least 3 min 0 s" in shown


def test_folders_of_one_name_are_told_apart_by_the_one_above(project: Project, tmp_path: Path) -> None:
    run = project.good_run()
    for machine in ("linux", "mac"):
        shutil.copytree(run.folder, tmp_path / machine / "run")
    found = gather([tmp_path / "linux/run", tmp_path / "mac/run"])
    assert f"cells/{LIBRARY} is the same in linux/run and mac/run and counts once" in found.notes
    assert len(found.manifest.files) == 2 * len(gather([run.folder]).manifest.files)


def test_runs_of_two_commits_are_said_to_be_of_no_single_one(project: Project) -> None:
    first = project.good_run()
    project.commit()
    found = together(project, first, project.good_run())
    assert found.state is State.NOT_PROVEN
    assert texts(found, "source")[0].startswith("the run is of no single commit, this is ")
    assert any(text.startswith("its evidence is of no single commit, ") for text in texts(found, f"cell:{LIBRARY}"))
