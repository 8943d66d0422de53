"""What makes a release red, what leaves it unproven, and that each is named."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from tests.unit.verdict.conftest import GOOD, LIBRARY, POLICY, RECORDING, SERVER, Project, Run, name_of, node, rule

from stackproof.errors import ExitCode
from stackproof.evidence import jsonfile, recordings
from stackproof.evidence.outcomes import Outcome
from stackproof.evidence.typecheck import Message, TypecheckFacts, TypecheckState
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
    assert "not committed" in rule(verdict, "source").summary
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


# -- tests


def one_cell(project: Project, prepare: Callable[[Run], object]) -> Verdict:
    """A run whose server cell is good and whose library cell is what `prepare` makes of it."""
    run = project.run()
    run.cell("server:reference")
    prepare(run)
    run.checks()
    run.finish()
    return run.verdict()


def test_a_failing_test_fails_and_is_named_with_its_reason(project: Project) -> None:
    tests = {**GOOD, node("test_one"): Outcome.FAILED}
    verdict = one_cell(project, lambda run: run.cell("library:reference", tests))
    assert verdict.state is State.FAIL
    assert verdict.exit_code == ExitCode.TESTS
    assert rule(verdict, LIBRARY).summary == f"1 passed, 1 failed, 1 skipped; first {node('test_one')}"
    assert rule(verdict, LIBRARY).findings[0].text == f"{node('test_one')} failed: assert 1 == 2"
    assert verdict.again == ("nox -s integration -- --stack-config library:reference",)


def test_only_recordings_at_fault_have_an_exit_code_of_their_own(project: Project) -> None:
    def prepare(run: Run) -> None:
        tests = {**GOOD, node("test_one"): Outcome.FAILED}
        folder = run.cell("library:reference", tests, calls={"missed": 1})
        miss = {"test_id": node("test_one"), "kind": "no-match", "message": "no recording"}
        jsonfile.write_text(folder / "misses.jsonl", json.dumps(miss) + "\n")

    verdict = one_cell(project, prepare)
    assert verdict.state is State.FAIL
    assert verdict.exit_code == ExitCode.RECORDINGS


@pytest.mark.parametrize(
    ("tests", "words"),
    [
        ({key: value for key, value in GOOD.items() if key != node("test_one")}, "is expected and was not collected"),
        ({**GOOD, node("test_new"): Outcome.PASSED}, "is not in ci/expected"),
        ({**GOOD, node("test_one"): Outcome.SKIPPED}, "is skipped and was not before"),
        ({**GOOD, node("test_one"): Outcome.XFAILED}, "is newly marked as an expected failure"),
    ],
)
def test_other_tests_or_skips_than_expected_fail(project: Project, tests: dict[str, Outcome], words: str) -> None:
    verdict = one_cell(project, lambda run: run.cell("library:reference", tests))
    assert verdict.state is State.FAIL
    assert words in rule(verdict, LIBRARY).summary


def test_a_skip_for_another_reason_is_another_skip(project: Project) -> None:
    verdict = one_cell(project, lambda run: run.cell("library:reference"))
    assert verdict.state is State.PASS
    path = project.folder / f"ci/expected/{LIBRARY}.json"
    path.write_text(path.read_text().replace("needs a vision model", "needs a GPU"))
    project.commit()
    verdict = one_cell(project, lambda run: run.cell("library:reference"))
    assert verdict.state is State.FAIL
    assert "for another reason: needs a vision model; expected: needs a GPU" in rule(verdict, LIBRARY).summary


def test_a_skip_that_runs_now_is_said(project: Project) -> None:
    tests = {**GOOD, node("test_vision"): Outcome.PASSED}
    verdict = one_cell(project, lambda run: run.cell("library:reference", tests))
    assert verdict.state is State.PASS
    assert "although its skip is expected" in rule(verdict, LIBRARY).findings[0].text


def test_expected_failures_and_unexpected_passes_are_counted_apart(project: Project) -> None:
    tests = {**GOOD, node("test_known"): Outcome.XFAILED, node("test_odd"): Outcome.XPASSED}
    project.expect(tests)
    project.commit()
    run = project.run()
    run.cell("library:reference", tests)
    run.cell("server:reference", tests)
    run.checks()
    run.finish()
    verdict = run.verdict()
    assert verdict.state is State.PASS
    assert "1 expected failure, 1 unexpected pass" in rule(verdict, LIBRARY).summary


def test_without_an_expectation_nothing_is_as_expected(project: Project) -> None:
    (project.folder / f"ci/expected/{LIBRARY}.json").unlink()
    project.commit()
    verdict = project.good_run().verdict()
    assert verdict.state is State.NOT_PROVEN
    assert "stackproof policy update" in rule(verdict, LIBRARY).summary


# -- runs that did not go to their end (never green, each with its own reason)


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (lambda run: run.cell("library:reference", {}, exit_code=5), "pytest found no test (exit code 5)"),
        (
            lambda run: run.cell("library:reference", dict.fromkeys(GOOD, Outcome.SKIPPED)),
            "all 3 tests were skipped",
        ),
        (lambda run: run.cell("library:reference", {}, exit_code=4), "a conftest.py does not import"),
        (lambda run: run.cell("library:reference", {}, exit_code=2), "could not collect"),
        (lambda run: run.cell("library:reference", exit_code=3), "pytest broke internally"),
        (lambda run: run.cell("library:reference", finished=False), "the test session never finished"),
        (lambda run: run.cell("library:reference", exit_code=1), "no test in the report failed"),
        (
            lambda run: run.cell("library:reference", {**GOOD, node("test_one"): Outcome.FAILED}, exit_code=0),
            "pytest ended with exit code 0, and 1 tests failed",
        ),
        (lambda run: run.cell("library:reference", signal="SIGTERM"), "ended by SIGTERM"),
        (
            lambda run: run.cell("library:reference", error={"kind": "Docker", "message": "no engine", "exit_code": 4}),
            "no engine",
        ),
        (
            lambda run: run.cell(
                "library:reference", events=[{"event": "collected", "nodeids": [*GOOD, node("test_lost")]}]
            ),
            "1 collected tests have no outcome",
        ),
        (lambda run: run.cell("library:reference", events=[{"event": "what"}]), "no events"),
    ],
)
def test_a_run_that_did_not_go_well_is_not_green_and_says_why(
    project: Project, prepare: Callable[[Run], object], words: str
) -> None:
    verdict = one_cell(project, prepare)
    assert verdict.state is not State.PASS
    assert any(words in finding.text for finding in rule(verdict, LIBRARY).findings)


def test_a_process_that_died_in_test_seven_leaves_nothing_green(project: Project) -> None:
    def prepare(run: Run) -> None:
        folder = run.cell("library:reference", finished=False)
        (folder / "outcome.json").unlink()
        (folder / "junit.xml").write_text("")
        result = jsonfile.read(folder / "result.json") or {}
        jsonfile.write(folder / "result.json", {**result, "exit_code": None})

    verdict = one_cell(project, prepare)
    assert verdict.state is State.NOT_PROVEN
    texts = [finding.text for finding in rule(verdict, LIBRARY).findings]
    assert "pytest did not end by itself" in texts
    assert "junit.xml is empty" in texts


def test_a_stack_that_does_not_start_has_an_exit_code_of_its_own(project: Project) -> None:
    error = {"kind": "StackStartError", "message": "reference exited with code 3", "exit_code": 5}
    verdict = one_cell(project, lambda run: run.cell("library:reference", {}, exit_code=5, error=error))
    assert verdict.state is State.FAIL
    assert rule(verdict, LIBRARY).summary.startswith("reference exited with code 3")


def test_report_and_log_that_contradict_each_other_are_not_proven(project: Project) -> None:
    def prepare(run: Run) -> None:
        folder = run.cell("library:reference")
        text = (folder / "junit.xml").read_text()
        (folder / "junit.xml").write_text(text.replace('name="test_one"', 'name="test_other"'))

    verdict = one_cell(project, prepare)
    assert verdict.state is State.NOT_PROVEN
    texts = [finding.text for finding in rule(verdict, LIBRARY).findings]
    assert f"{node('test_one')} is in the log and not in the report" in texts


def test_a_cell_that_is_wanted_where_available_is_said_and_counts_in_ci_alone(project: Project) -> None:
    text = POLICY.replace('stack: "library:reference"', 'stack: "library:reference", required: where-available')
    project.write("ci/release.yaml", text)
    project.commit()
    run = project.run()
    run.cell("server:reference")
    run.checks()
    run.finish()
    verdict = run.verdict()
    assert rule(verdict, LIBRARY).state is State.NOT_PROVEN
    assert verdict.state is State.PASS
    assert run.verdict(environ={"CI": "true"}).state is State.NOT_PROVEN


@pytest.mark.parametrize(("kind", "code"), [("MissingProgramError", 5), ("NoEngineError", 4)])
def test_what_a_machine_has_not_is_no_fault_of_the_stack(project: Project, kind: str, code: int) -> None:
    text = POLICY.replace('stack: "library:reference"', 'stack: "library:reference", required: where-available')
    project.write("ci/release.yaml", text)
    project.commit()
    run = project.run()
    error = {"kind": kind, "message": "stack 'x' needs what is not here", "exit_code": code}
    run.cell("library:reference", {}, exit_code=code, error=error)
    for name in ("tests.jsonl", "junit.xml"):  # nothing of the cell has run
        (run.folder / "cells" / LIBRARY / name).unlink()
    run.cell("server:reference")
    run.checks()
    run.finish()
    assert run.verdict().state is State.PASS
    verdict = run.verdict(environ={"CI": "true"})
    assert verdict.state is State.NOT_PROVEN
    assert "needs what is not here" in rule(verdict, LIBRARY).summary


@pytest.mark.parametrize(
    ("kind", "ran"),
    [("BuildFailedError", False), ("DockerError", False), ("DockerError", True), ("NoEngineError", True)],
)
def test_what_goes_wrong_with_an_engine_that_answers_is_no_absence(project: Project, kind: str, ran: bool) -> None:
    text = POLICY.replace('stack: "library:reference"', 'stack: "library:reference", required: where-available')
    project.write("ci/release.yaml", text)
    project.commit()
    run = project.run()
    run.cell("library:reference", exit_code=4, error={"kind": kind, "message": "not all came out", "exit_code": 4})
    if not ran:
        for name in ("tests.jsonl", "junit.xml"):
            (run.folder / "cells" / LIBRARY / name).unlink()
    run.cell("server:reference")
    run.checks()
    run.finish()
    assert rule(run.verdict(), LIBRARY).state is State.NOT_PROVEN
    assert run.verdict().state is State.NOT_PROVEN


# -- recordings, network, flaky tests, waivers


@pytest.mark.parametrize(
    ("calls", "words"),
    [
        ({"missed": 1}, "1 missed in"),
        ({"unused": 2, "unused_files": ["base/a.json"]}, f"2 unused in {LIBRARY}: base/a.json"),
        ({"not_promoted": 1}, "1 not promoted in"),
    ],
)
def test_recordings_that_do_not_fit_fail_with_their_own_exit_code(
    project: Project, calls: dict[str, object], words: str
) -> None:
    verdict = one_cell(project, lambda run: run.cell("library:reference", calls=calls))
    assert verdict.exit_code == ExitCode.RECORDINGS
    assert words in rule(verdict, "recordings").summary


def test_damaged_recordings_are_named(project: Project) -> None:
    def prepare(run: Run) -> None:
        folder = run.cell("library:reference")
        miss = {"test_id": None, "kind": "damaged", "message": "recordings/a.json is no recording\nmore"}
        jsonfile.write_text(folder / "misses.jsonl", json.dumps(miss) + "\n")

    verdict = one_cell(project, prepare)
    assert verdict.exit_code == ExitCode.RECORDINGS
    assert rule(verdict, "recordings").summary == "damaged: recordings/a.json is no recording"


def test_a_connection_that_was_refused_fails_and_names_host_and_test(project: Project) -> None:
    def prepare(run: Run) -> None:
        folder = run.cell("library:reference", calls={"missed": 1})
        text = f"connection to api.example.com refused in {node('test_one')}"
        miss = {"test_id": node("test_one"), "kind": "network", "message": text + "\nmore"}
        jsonfile.write_text(folder / "misses.jsonl", json.dumps(miss) + "\n")

    verdict = one_cell(project, prepare)
    assert verdict.exit_code == ExitCode.TESTS
    assert "api.example.com" in rule(verdict, LIBRARY).summary


def test_damage_and_secrets_in_recordings_are_found_and_never_shown(project: Project) -> None:
    secret = "long-and-secret-value"
    damaged = {"base/a.json": "", "base/b.json": "{}"}
    for name, text in damaged.items():
        project.write(f"recordings/ollama/{name}", text)
    body = {"json": {"echo": f"x {secret}"}}
    told = {**RECORDING, "response": {**RECORDING["response"], "body": body}}
    project.write(f"recordings/{name_of('/a')}", json.dumps(told))
    found = recordings.inspect(project.folder / "recordings", ["ollama", "other"], values={"API_KEY": secret})
    assert found.files == 3
    assert [text.partition(":")[0] for text in found.damaged] == ["ollama/base/a.json", "ollama/base/b.json"]
    assert len(found.secrets) == 1
    assert "API_KEY" in found.secrets[0]
    assert secret not in found.secrets[0]
    run = project.good_run()
    jsonfile.write(run.folder / "checks/recordings.json", recordings.to_json(found))
    run.finish()
    assert rule(run.verdict(), "recordings").state is State.FAIL
    assert run.verdict().exit_code == ExitCode.TESTS


@pytest.mark.parametrize("kind", ["live", "recorded", "refused"])
def test_a_call_that_left_the_replay_fails(project: Project, kind: str) -> None:
    verdict = one_cell(project, lambda run: run.cell("library:reference", calls={kind: 1}))
    assert verdict.state is State.FAIL


def test_the_tripwire_alone_is_said_and_not_proven_where_the_policy_insists(project: Project) -> None:
    verdict = one_cell(project, lambda run: run.cell("library:reference", sealed="tripwire"))
    assert verdict.state is State.PASS
    assert "tripwire alone" in rule(verdict, "sealed").findings[0].text
    project.write("ci/release.yaml", POLICY + "sealed: namespace\n")
    project.commit()
    verdict = one_cell(project, lambda run: run.cell("library:reference", sealed="tripwire"))
    assert verdict.state is State.NOT_PROVEN


def test_flaky_tests_are_a_state_of_their_own_and_have_an_allowance(project: Project) -> None:
    tests = {**GOOD, node("test_one"): Outcome.FLAKY}
    verdict = one_cell(project, lambda run: run.cell("library:reference", tests))
    assert verdict.state is State.FAIL
    assert "1 of 0 allowed" in rule(verdict, "flaky").summary
    project.write("ci/release.yaml", POLICY + "flaky: {allowed: 1}\n")
    project.commit()
    verdict = one_cell(project, lambda run: run.cell("library:reference", tests))
    assert verdict.state is State.PASS
    assert "1 of 1 allowed" in rule(verdict, "flaky").summary
    assert "1 flaky" in rule(verdict, LIBRARY).summary


def test_a_suite_may_have_a_flaky_budget_of_its_own(project: Project) -> None:
    def verdict(budget: str) -> Verdict:
        project.write("ci/release.yaml", POLICY + f"flaky: {budget}\n")
        project.commit()
        return one_cell(project, lambda run: run.cell("library:reference", {**GOOD, node("test_one"): Outcome.FLAKY}))

    borne = verdict("{allowed: 0, suites: {base: 1}}")
    assert borne.state is State.PASS
    assert (
        rule(borne, "flaky").summary == f"0 of 0 allowed; suite base: 1 of 1 allowed: {node('test_one')} in {LIBRARY}"
    )
    too_many = verdict("{allowed: 5, suites: {base: 0}}")
    assert too_many.exit_code == ExitCode.TESTS
    assert rule(too_many, "flaky").summary == f"suite base: 1 of 0 allowed: {node('test_one')} in {LIBRARY}"


WAIVERS = POLICY + (f'waivers: [{{test: "{node("test_one")}", reason: known, owner: team, expires: 2026-12-01}}]\n')


def test_a_waived_failure_is_borne_until_its_last_day_and_does_not_count_as_executed(project: Project) -> None:
    project.write("ci/release.yaml", WAIVERS)
    project.commit()
    tests = {**GOOD, node("test_one"): Outcome.FAILED}
    run = project.run()
    run.cell("library:reference", tests)
    run.cell("server:reference")
    run.checks()
    run.finish()
    verdict = run.verdict()
    assert verdict.state is State.PASS
    assert "known (team, until 2026-12-01)" in rule(verdict, "waivers").findings[0].text
    late = run.verdict(today=date(2026, 12, 2))
    assert late.state is State.FAIL
    assert "expired on 2026-12-01" in rule(late, "waivers").findings[0].text


def test_nothing_but_waived_failures_is_not_proven(project: Project) -> None:
    project.write("ci/release.yaml", WAIVERS)
    tests = {node("test_one"): Outcome.FAILED, node("test_vision"): Outcome.SKIPPED}
    project.expect(tests)
    project.commit()
    verdict = one_cell(project, lambda run: run.cell("library:reference", tests))
    assert rule(verdict, LIBRARY).state is State.NOT_PROVEN
    assert "no test passed: every one was skipped, is waived, or failed as expected" in rule(verdict, LIBRARY).summary


def test_a_project_without_nox_is_told_commands_of_its_own(project: Project) -> None:
    def commands(run: Run) -> set[str]:
        return {" ".join((rule.again or "").split()[:3]) for rule in run.verdict().rules}

    run = project.good_run()
    assert {"nox -s verify_release", "nox -s benchmark", "nox -s typecheck"} <= commands(run)
    (project.folder / "noxfile.py").unlink()
    assert {"stackproof verify-release", "stackproof benchmark", "stackproof typecheck pkg"} <= commands(run)


def test_nothing_but_expected_failures_is_not_proven(project: Project) -> None:
    tests = {node("test_one"): Outcome.XFAILED, node("test_vision"): Outcome.SKIPPED}
    project.expect(tests)
    project.commit()
    verdict = one_cell(project, lambda run: run.cell("library:reference", tests))
    assert rule(verdict, LIBRARY).state is State.NOT_PROVEN
    assert "no test passed" in rule(verdict, LIBRARY).summary


def test_a_waiver_that_matches_nothing_is_said(project: Project) -> None:
    project.write("ci/release.yaml", WAIVERS)
    project.commit()
    verdict = project.good_run().verdict()
    assert verdict.state is State.PASS
    assert "matches no failing test" in rule(verdict, "waivers").findings[0].text


# -- types and benchmarks


GOOD_TYPES = TypecheckFacts(state=TypecheckState.SUCCESS, exit_code=0, files=("pkg/a.py", "pkg/b.py"), roots=("pkg",))
ERROR = Message(file="pkg/a.py", line=88, severity="error", message="wrong")


@pytest.mark.parametrize(
    ("facts", "more", "state", "words"),
    [
        (GOOD_TYPES, "", State.PASS, "no error in 2 files"),
        (replace(GOOD_TYPES, messages=(replace(ERROR, severity="note"),)), "", State.PASS, "no error in 2 files"),
        (
            replace(GOOD_TYPES, state=TypecheckState.ERRORS, exit_code=1, messages=(ERROR,)),
            "",
            State.FAIL,
            "1 error in 2 files; first pkg/a.py:88",
        ),
        (
            replace(GOOD_TYPES, state=TypecheckState.TOOL_FAILURE, exit_code=2, reason="mypy broke"),
            "",
            State.NOT_PROVEN,
            "mypy broke",
        ),
        (replace(GOOD_TYPES, unchecked=("pkg/c.py",)), "", State.NOT_PROVEN, "not checked: pkg/c.py"),
        (replace(GOOD_TYPES, unchecked=("pkg/c.py",)), ", every_file: false", State.PASS, "2 files"),
        (replace(GOOD_TYPES, roots=("other",)), "", State.NOT_PROVEN, "mypy was given other, not pkg"),
        (replace(GOOD_TYPES, files=()), "", State.NOT_PROVEN, "mypy checked no file"),
        (GOOD_TYPES, ", at_least: 3", State.NOT_PROVEN, "the policy says at least 3"),
        (GOOD_TYPES, ", exactly: 3", State.NOT_PROVEN, "the policy says 3"),
        (GOOD_TYPES, ", exactly: 2", State.PASS, "2 files"),
    ],
)
def test_types_and_the_number_of_checked_files(
    project: Project, facts: TypecheckFacts, more: str, state: State, words: str
) -> None:
    project.write("ci/release.yaml", POLICY.replace("paths: [pkg]", f"paths: [pkg]{more}"))
    project.commit()
    run = project.run()
    run.cell("library:reference")
    run.cell("server:reference")
    run.checks(types=facts)
    run.finish()
    verdict = run.verdict()
    assert verdict.state is state
    assert words in rule(verdict, "types").summary


@pytest.mark.parametrize(
    ("ratio", "samples", "state", "words"),
    [
        (1.1, 20, State.PASS, "1.10 × floor (gate 1.20)"),
        (1.3, 20, State.FAIL, "1.30 × floor"),
        (1.1, 19, State.NOT_PROVEN, "19 samples, the policy wants 20"),
        (1.1, 0, State.NOT_PROVEN, "nothing was measured"),
    ],
)
def test_a_benchmark_is_weighed_by_the_lower_end_of_its_ratio(
    project: Project, ratio: float, samples: int, state: State, words: str
) -> None:
    run = project.run()
    run.cell("library:reference")
    run.cell("server:reference")
    run.checks(ratio=ratio, samples=samples)
    run.finish()
    verdict = run.verdict()
    assert verdict.state is state
    assert words in rule(verdict, "benchmark:turns").summary


def test_two_weighings_of_one_run_are_one_verdict(project: Project) -> None:
    run = project.good_run()
    assert run.verdict() == run.verdict()


def test_a_cell_with_injected_faults_proves_nothing(project: Project) -> None:
    run = project.run()
    folder = run.cell("library:reference")
    jsonfile.write(folder / "cell.json", {"schema": 1, "options": {"inject": ["slow-first-byte:0.01"]}})
    run.cell("server:reference")
    run.checks()
    run.finish()
    verdict = run.verdict()
    assert verdict.exit_code == ExitCode.NOT_PROVEN
    assert rule(verdict, LIBRARY).summary == (
        "not proven: faults were injected into the answers of every test: slow-first-byte:0.01"
    )


@pytest.mark.parametrize("run_id", [None, {}, 7])
def test_a_manifest_that_does_not_say_its_run_is_none(project: Project, run_id: object) -> None:
    run = project.good_run()
    path = run.folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "run_id": run_id}))
    verdict = run.verdict()
    assert verdict.exit_code == ExitCode.NOT_PROVEN
    assert rule(verdict, "evidence").summary.startswith("not proven: the run has no manifest that can be read")


def test_a_name_in_the_manifest_that_no_file_can_have_is_missing(project: Project) -> None:
    run = project.good_run()
    path = run.folder / "manifest.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "files": {**content["files"], "a\0b": {"sha256": "0" * 64}}}))
    assert "is listed in the manifest and gone" in rule(run.verdict(), "evidence").summary
