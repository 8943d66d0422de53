"""Cells whose tests, process or engine did not go well."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from tests.unit.verdict.conftest import GOOD, LIBRARY, POLICY, Project, Run, node, rule
from tests.unit.verdict.one_cell import one_cell

from stackproof.errors import ExitCode
from stackproof.evidence import jsonfile
from stackproof.evidence.outcomes import Outcome
from stackproof.verdict.records import State


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
            "pytest ended with exit code 0, and 1 test failed",
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
            "1 collected test has no outcome",
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
