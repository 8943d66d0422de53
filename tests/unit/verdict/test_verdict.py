"""What makes a release red, what leaves it unproven, and that each is named."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.verdict.conftest import LIBRARY, POLICY, SERVER, Project, rule

from stackproof.errors import ExitCode
from stackproof.evidence import jsonfile
from stackproof.verdict.records import State, Verdict


def test_a_whole_run_is_green(project: Project) -> None:
    verdict = project.good_run().verdict()
    assert verdict.state is State.PASS
    assert verdict.exit_code == ExitCode.PASS
    assert not verdict.again
    assert all(each.proves and each.excludes for each in verdict.rules)
    assert rule(verdict, LIBRARY).summary == "2 passed, 1 skipped, as expected"


def spoilt(project: Project, spoil: Callable[[Path], object]) -> Verdict:
    run = project.good_run()
    spoil(run.folder)
    return run.verdict()


def edit(name: str, old: str, new: str) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        path = folder / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    return change


# -- evidence that is missing or altered


@pytest.mark.parametrize(
    "name",
    [
        "plan.json", "manifest.json", "cells", f"cells/{LIBRARY}", f"cells/{LIBRARY}/result.json",
        f"cells/{LIBRARY}/junit.xml", f"cells/{SERVER}/tests.jsonl", f"cells/{SERVER}/outcome.json",
        "checks", "checks/typecheck.json", "checks/benchmark.json", "checks/recordings.json",
    ],
)  # fmt: skip
def test_whatever_is_deleted_is_missed(project: Project, name: str) -> None:
    run = project.run()
    jsonfile.write(run.folder / "plan.json", {"schema": 1})
    run.cell("library:reference")
    run.cell("server:reference")
    run.checks()
    run.finish()
    assert run.verdict().state is State.PASS
    path = run.folder / name
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    verdict = run.verdict()
    assert verdict.state is State.NOT_PROVEN
    assert verdict.exit_code == ExitCode.NOT_PROVEN


@pytest.mark.parametrize(
    ("name", "old", "new", "where"),
    [
        (f"cells/{LIBRARY}/junit.xml", 'time="0.100"', 'time="0.200"', LIBRARY),
        (f"cells/{LIBRARY}/result.json", '"dirty": false', '"dirty":  false', LIBRARY),
        ("checks/typecheck.json", '"exit_code": 0', '"exit_code":  0', "types"),
        ("checks/benchmark.json", "0.01", "0.02", "benchmark:turns"),
    ],
)
def test_an_altered_file_is_named_where_it_counts(project: Project, name: str, old: str, new: str, where: str) -> None:
    verdict = spoilt(project, edit(name, old, new))
    assert verdict.state is State.NOT_PROVEN
    assert f"{name} was changed after the run" in rule(verdict, where).summary
    assert name in rule(verdict, "evidence").summary


def test_evidence_that_was_put_there_afterwards_is_named(project: Project) -> None:
    verdict = spoilt(project, lambda folder: jsonfile.write_text(folder / f"cells/{LIBRARY}/misses.jsonl", "{}\n"))
    assert verdict.state is State.NOT_PROVEN
    assert "is not listed in the manifest" in rule(verdict, "evidence").summary


def test_the_report_of_another_cell_proves_nothing_twice(project: Project) -> None:
    run = project.good_run()
    for name in ("junit.xml", "tests.jsonl"):
        shutil.copy(run.folder / f"cells/{LIBRARY}/{name}", run.folder / f"cells/{SERVER}/{name}")
    run.finish()
    verdict = run.verdict()
    assert verdict.state is State.NOT_PROVEN
    assert f"copy of that of {LIBRARY}" in rule(verdict, SERVER).summary


# -- evidence of something else


def test_evidence_of_another_commit_is_named(project: Project) -> None:
    run = project.good_run()
    project.write("pkg/a.py", "x = 1\n")
    project.commit()
    verdict = run.verdict()
    assert verdict.state is State.NOT_PROVEN
    for name in (LIBRARY, SERVER, "types", "benchmark:turns", "source"):
        assert "is of commit" in rule(verdict, name).summary


def test_changes_that_are_not_committed_are_not_proven_or_only_said(project: Project) -> None:
    project.write("pkg/a.py", "x = 1\n")
    verdict = project.good_run().verdict()
    assert verdict.state is State.NOT_PROVEN
    assert "changes that are not committed: pkg/" in rule(verdict, "source").summary
    project.write("ci/release.yaml", POLICY + "source: any\n")
    verdict = project.good_run().verdict()
    assert verdict.state is State.PASS
    assert "not committed" in rule(verdict, "source").findings[0].text


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("ci/release.yaml", POLICY + "flaky: {allowed: 9}\n", "another policy"),
        ("tests/integration/base/test_more.py", "", "the suite's files have changed since"),
        ("recordings/ollama/base/b.json", "{}", "the recordings have changed since"),
    ],
)
def test_evidence_of_other_files_is_named(project: Project, name: str, text: str, words: str) -> None:
    project.write("ci/release.yaml", POLICY + "source: any\n")
    run = project.good_run()
    project.write(name, text)
    verdict = run.verdict()
    assert verdict.state is State.NOT_PROVEN
    assert any(words in finding.text for finding in rule(verdict, LIBRARY).findings)


def test_without_git_nothing_belongs_to_a_commit(project: Project) -> None:
    shutil.rmtree(project.folder / ".git")
    verdict = project.good_run().verdict()
    assert verdict.state is State.NOT_PROVEN
    assert "no Git commit" in rule(verdict, "source").summary


@pytest.mark.parametrize("mode", ["live", "record"])
def test_a_run_that_was_no_replay_proves_no_replay(project: Project, mode: str) -> None:
    run = project.run()
    run.cell("library:reference", mode=mode)
    run.cell("server:reference")
    run.checks()
    run.finish()
    assert f"in mode {mode}" in rule(run.verdict(), LIBRARY).summary


def test_a_policy_that_differs_from_the_base_branch_is_a_line(project: Project) -> None:
    project.git("branch", "base")
    project.git("update-ref", "refs/remotes/origin/main", "base")
    environ = {"GITHUB_BASE_REF": "main"}
    assert not rule(project.good_run().verdict(environ=environ), "source").findings
    project.write("ci/release.yaml", POLICY + "flaky: {allowed: 9}\n")
    project.commit()
    found = rule(project.good_run().verdict(environ=environ), "source")
    assert found.state is State.PASS
    assert found.findings[0].text == "the policy differs from origin/main: ci/release.yaml"
    found = rule(project.good_run().verdict(environ={"GITHUB_BASE_REF": "gone"}), "source")
    assert "is not known" in found.findings[0].text
