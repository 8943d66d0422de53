"""Recordings, network, flaky tests, waivers, types and benchmarks in a verdict."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date

import pytest
from tests.unit.verdict.conftest import GOOD, LIBRARY, POLICY, RECORDING, Project, Run, name_of, node, rule
from tests.unit.verdict.one_cell import one_cell

from stackproof.errors import ExitCode
from stackproof.evidence import jsonfile, recordings
from stackproof.evidence.outcomes import Outcome
from stackproof.evidence.typecheck import Message, TypecheckFacts, TypecheckState
from stackproof.verdict.records import State, Verdict

# -- recordings, network, flaky tests, waivers


@pytest.mark.parametrize(
    ("calls", "words"),
    [
        ({"missed": 1}, "1 missed in"),
        (
            {"unused": 2, "unused_files": ["base/a.json"]},
            f"2 unused in {LIBRARY}: base/a.json (stackproof recordings prune)",
        ),
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
    # As init writes it: two sessions, and what is no session of it is our own command.
    noxfile = project.folder / "noxfile.py"
    noxfile.write_text("# stackproof\ndef integration(session): ...\ndef verify_release(session): ...\n")
    assert {"nox -s verify_release", "stackproof benchmark", "stackproof typecheck pkg"} <= commands(run)
    noxfile.unlink()
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
