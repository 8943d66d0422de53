"""The policy file and what looks after it."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest
from tests.unit.verdict.conftest import GOOD, LIBRARY, POLICY, SERVER, TODAY, Project, Run, node, update_expected

from stackproof import catalog
from stackproof.errors import NotProvenError, UsageError
from stackproof.evidence import git
from stackproof.evidence.outcomes import Outcome
from stackproof.verdict import expected, policy
from stackproof.verdict.check import check, seen
from stackproof.verdict.expected import Expectation
from stackproof.verdict.policy import Required, SealedRule, SourceRule
from stackproof.verdict.records import State

FULL = """\
version: 1
cells:
  - {suite: base, setup: ollama, stack: "docker:reference", required: where-available}
source: any
sealed: namespace
recordings: {missed: 0, unused: 3, damaged: 0, late: 2, not_promoted: 1}
typecheck: {paths: [a, b], every_file: false, at_least: 2}
benchmarks:
  turns: {gate: 1.5, samples: 30}
flaky: {allowed: 2}
waivers:
  - test: tests/test_a.py::test_x
    cell: base-ollama-docker-reference
    reason: known
    owner: team
    expires: 2026-12-31
"""


def load(tmp_path: Path, text: str) -> policy.Policy:
    (tmp_path / "ci").mkdir(exist_ok=True)
    (tmp_path / "ci/release.yaml").write_text(text)
    return policy.load(tmp_path)


def test_a_policy_is_read_in_full(tmp_path: Path) -> None:
    found = load(tmp_path, FULL)
    assert found.cells[0].id == "base-ollama-docker-reference"
    assert found.cells[0].title == "base × ollama × docker:reference"
    assert found.cells[0].required is Required.WHERE_AVAILABLE
    assert (found.source, found.sealed, found.flaky.allowed) == (SourceRule.ANY, SealedRule.NAMESPACE, 2)
    assert (found.recordings.unused, found.recordings.late, found.recordings.not_promoted) == (3, 2, 1)
    assert found.typecheck is not None
    assert (found.typecheck.paths, found.typecheck.every_file, found.typecheck.at_least) == (("a", "b"), False, 2)
    assert (found.benchmarks[0].name, found.benchmarks[0].gate, found.benchmarks[0].samples) == ("turns", 1.5, 30)
    assert (found.waivers[0].expires, found.waivers[0].line) == (date(2026, 12, 31), 12)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("version: 1", "version: 2", "ci/release.yaml:1: the release policy must say 'version: 1'"),
        ("sealed: namespace", "seeled: namespace", "ci/release.yaml:5: unknown key 'seeled'"),
        ("sealed: namespace", "sealed: maybe", "ci/release.yaml:5: 'sealed' in the release policy must be one of"),
        ("docker:reference", "reference", "ci/release.yaml:3: stack 'reference' must be a mode and a name"),
        ("suite: base, ", "", "ci/release.yaml:3: cell 1 lacks 'suite'"),
        ("gate: 1.5", "gate: 0.5", "ci/release.yaml:9: benchmark 'turns' needs a 'gate'"),
        ("samples: 30", "samples: 2", "whole number of at least 6"),
        ("allowed: 2", "allowed: -1", "whole number of at least 0"),
        ("allowed: 2", "suites: {base: -1}", "whole number of at least 0"),
        ("allowed: 2", "suites: {bsae: 1}", "suite 'bsae', of which no cell is listed, did you mean 'base'?"),
        ("expires: 2026-12-31", "expires: soon", "ci/release.yaml:16: 'expires' in waiver 1 must be a day"),
        ("    owner: team\n", "", "ci/release.yaml:12: waiver 1 lacks 'owner'"),
        ("base-ollama-docker", "base-olama-docker", "did you mean 'base-ollama-docker-reference'"),
        ("paths: [a, b], ", "", "'typecheck' lacks 'paths'"),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in FULL
    with pytest.raises(UsageError) as caught:
        load(tmp_path, FULL.replace(old, new))
    assert words in caught.value.message


@pytest.mark.parametrize("text", ["version: 1\n", "version: 1\ncells: []\n", "version: 1\ncells: base\n"])
def test_a_policy_without_cells_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError):
        load(tmp_path, text)


def test_a_project_without_a_policy_is_told_what_the_least_of_one_is(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        policy.load(tmp_path)
    assert caught.value.message == "there is no ci/release.yaml, which says what must be there before a release"
    assert "stackproof init" in str(caught.value.hint)


def test_a_cell_may_be_listed_once(tmp_path: Path) -> None:
    cell = '  - {suite: base, setup: ollama, stack: "library:reference"}\n'
    with pytest.raises(UsageError, match="listed twice"):
        load(tmp_path, f"version: 1\ncells:\n{cell}{cell}")


def test_the_expected_tests_can_be_written_from_a_run(project: Project) -> None:
    tests = {**GOOD, node("test_new"): Outcome.PASSED, node("test_known"): Outcome.XFAILED}
    del tests[node("test_one")]
    run = project.run()
    run.cell("library:reference", tests)
    run.cell("server:reference", tests)
    run.checks()
    run.finish()
    assert run.verdict().state is State.FAIL
    lines = update_expected(project.folder, run.folder)
    assert f"{LIBRARY}: 4 tests, 1 skipped, 1 expected to fail" in lines
    assert f"  + {node('test_new')}" in lines
    assert f"  - {node('test_one')}" in lines
    project.commit()
    again = project.run()
    again.cell("library:reference", tests)
    again.cell("server:reference", tests)
    again.checks()
    again.finish()
    assert again.verdict().state is State.PASS
    assert update_expected(project.folder, again.folder) == [
        f"{LIBRARY}: 4 tests, 1 skipped, 1 expected to fail",
        f"{SERVER}: 4 tests, 1 skipped, 1 expected to fail",
    ]


def test_a_run_that_did_not_end_changes_no_expectation(project: Project) -> None:
    before = (project.folder / f"ci/expected/{LIBRARY}.json").read_bytes()
    run = project.run()
    run.cell("library:reference", {node("test_one"): Outcome.PASSED})
    run.cell("server:reference", finished=False)
    with pytest.raises(NotProvenError):
        update_expected(project.folder, run.folder)
    assert (project.folder / f"ci/expected/{LIBRARY}.json").read_bytes() == before


@pytest.mark.parametrize("picked", ["--file tests/integration/base/test_it.py", "--pattern 'one or two'"])
def test_a_run_of_a_part_of_the_suite_changes_no_expectation(project: Project, picked: str) -> None:
    run = project.run()
    folder = run.cell("library:reference", {node("test_one"): Outcome.PASSED})
    result = json.loads((folder / "result.json").read_text())
    (folder / "result.json").write_text(json.dumps({**result, "command": f"{result['command']} {picked}"}))
    run.finish()
    with pytest.raises(NotProvenError) as caught:
        update_expected(project.folder, run.folder)
    assert f"{LIBRARY} ran only what {picked.split(maxsplit=1)[0]} picked" in caught.value.message
    assert "`stackproof verify-release` runs it whole" in (caught.value.hint or "")
    assert node("test_two") in (project.folder / f"ci/expected/{LIBRARY}.json").read_text()


def test_an_expectation_that_is_something_else_is_an_error(project: Project) -> None:
    project.write(f"ci/expected/{LIBRARY}.json", '{"schema": 1, "nodeids": "all"}')
    with pytest.raises(UsageError, match="no list of expected tests"):
        expected.load(project.folder, LIBRARY)


def test_a_check_names_what_is_of_no_use(project: Project) -> None:
    known = catalog.load(project.folder)
    assert check(project.folder, known, TODAY) == []
    project.write(
        "ci/release.yaml",
        POLICY
        + "waivers:\n"
        + "".join(
            f"  - {{test: '{node(name)}', reason: r, owner: o, expires: {day}}}\n"
            for name, day in (("test_one", "2026-11-30"), ("test_gone", "2027-01-01"))
        ),
    )
    project.write("ci/expected/base-old-server-reference.json", "{}")
    (project.folder / f"ci/expected/{SERVER}.json").unlink()
    assert check(project.folder, known, TODAY) == [
        f"ci/expected/{SERVER}.json is missing: stackproof policy update",
        "ci/expected/base-old-server-reference.json belongs to no cell of the policy",
        f"ci/release.yaml:9: waiver for {node('test_one')} (o) expired on 2026-11-30",
        f"ci/release.yaml:10: waiver for {node('test_gone')} (o) is retired: no cell expects its test",
    ]


def waived(project: Project, test: str, *, cell: str | None = None) -> Project:
    named = f", cell: {cell}" if cell else ""
    waiver = f"waivers:\n  - {{test: '{test}', reason: r, owner: o, expires: 2099-01-01{named}}}\n"
    project.write("ci/release.yaml", POLICY + waiver)
    project.commit()
    return project


def checked(project: Project, run: Run) -> list[str]:
    known = catalog.load(project.folder)
    return check(project.folder, known, TODAY, seen(run.folder, git.state(project.folder).commit))


@pytest.mark.parametrize(
    ("library", "server", "cell", "told"),
    [
        (Outcome.PASSED, Outcome.PASSED, None, "did not fail"),
        (Outcome.FLAKY, Outcome.SKIPPED, None, "did not fail"),
        (Outcome.SKIPPED, Outcome.SKIPPED, None, "was skipped"),
        (Outcome.FAILED, Outcome.PASSED, None, None),
        (Outcome.FAILED, Outcome.PASSED, SERVER, "did not fail"),
        (Outcome.ERROR, Outcome.PASSED, LIBRARY, None),
    ],
)
def test_a_waiver_whose_test_does_not_fail_any_more_is_stale(
    project: Project, library: Outcome, server: Outcome, cell: str | None, told: str | None
) -> None:
    waived(project, node("test_one"), cell=cell)
    run = project.run()
    run.cell("library:reference", {**GOOD, node("test_one"): library})
    run.cell("server:reference", {**GOOD, node("test_one"): server})
    run.finish()
    stale = f"ci/release.yaml:9: waiver for {node('test_one')} (o) is stale: its test {told} in run {run.run_id}"
    assert checked(project, run) == ([] if told is None else [stale])


def test_a_run_of_another_commit_says_nothing_about_waivers(project: Project) -> None:
    waived(project, node("test_one"))
    run = project.good_run()
    assert checked(project, run)
    project.commit()
    assert checked(project, run) == []
    fewer = project.run()
    fewer.cell("library:reference", {node("test_two[x]"): Outcome.PASSED})
    fewer.finish()
    assert checked(project, fewer) == []


def test_a_waiver_for_a_test_of_a_claim_has_no_effect(project: Project) -> None:
    expected.save(project.folder, "claims", Expectation(nodeids=frozenset({"tests/faults/test_a.py::test_x"})))
    waived(project, "tests/faults/test_a.py::test_x")
    assert any("has no effect: its test serves a claim" in line for line in checked(project, project.good_run()))


def test_a_policy_that_names_an_unknown_suite_is_an_error(project: Project) -> None:
    project.write("ci/release.yaml", POLICY.replace("suite: base", "suite: bass"))
    with pytest.raises(UsageError, match="did you mean 'base'"):
        check(project.folder, catalog.load(project.folder), TODAY)
