"""A run folder with claims, weighed: what each rule says, and what makes it not proven."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.unit.claims.conftest import CLAIMS
from tests.unit.verdict.conftest import POLICY, Project, Run, rule, update_expected

from stackproof.errors import UsageError
from stackproof.evidence import claims, digests, git, jsonfile, merge
from stackproof.evidence.junit import Case, Report
from stackproof.evidence.nodeids import junit_key
from stackproof.evidence.outcomes import Outcome
from stackproof.verdict import expected, policy, terminal
from stackproof.verdict.records import State

SECTION = "claims: {file: tests/claims.yaml, tests: [tests/faults]}\n"
CUT, ALSO_CUT, FULL, ELSEWHERE = (f"tests/faults/test_a.py::test_{name}" for name in ("cut", "also", "full", "else"))
SERVES = {CUT: "cut", ALSO_CUT: "cut", FULL: "full", ELSEWHERE: "elsewhere"}
HELD: Mapping[str, Mapping[str, Any]] = {
    "cut": {"events": ["turn_started", "turn_failed"], "residue": {"pending": [], "terminal": "failed"}},
    "full": {"events": [], "residue": {"lost": 0}},
}
LACKS = "claim elsewhere needs /no/such/path, which this machine lacks"
OUTCOMES = {CUT: Outcome.PASSED, ALSO_CUT: Outcome.PASSED, FULL: Outcome.PASSED, ELSEWHERE: Outcome.SKIPPED}


@pytest.fixture
def claimed(project: Project) -> Project:
    project.write("ci/release.yaml", POLICY + SECTION)
    project.write("tests/claims.yaml", CLAIMS)
    project.write("tests/faults/test_a.py", "")
    expected.save(project.folder, "claims", expected.Expectation(nodeids=frozenset(SERVES)))
    project.commit()
    return project


def observation(test: str, **other: Any) -> dict[str, Any]:
    name = SERVES[test]
    given = {"event": "observed", "claim": name, "test": test, "attempt": 1, "seed": None, "held": True}
    return {**given, "observed": HELD[name], **other}


def leave(
    run: Run,
    outcomes: Mapping[str, Outcome] = OUTCOMES,
    *,
    observed: Mapping[str, Any] | None = None,
    lines: tuple[object, ...] = (),
    reruns: Sequence[dict[str, Any]] = (),
    **result: Any,
) -> None:
    """What a session of claims leaves. observed: overrides the observation of a test, None leaves it out."""
    project, folder = run.project.folder, run.folder / claims.FOLDER
    seen = {
        test: observation(test) for test, outcome in outcomes.items() if outcome.executed and test in SERVES
    } | dict(observed or {})
    events = [{"event": "serves", "tests": SERVES}, *(each for each in seen.values() if each is not None), *lines]
    jsonfile.write_text(folder / claims.OBSERVATIONS, "".join(json.dumps(event) + "\n" for event in events))
    code = int(any(outcome.bad for outcome in outcomes.values()))
    log: list[dict[str, Any]] = [{"event": "collected", "nodeids": list(outcomes)}, *reruns]
    for test, outcome in outcomes.items():
        reason = LACKS if outcome is Outcome.SKIPPED else None
        log.append(
            {"event": "test", "nodeid": test, "outcome": outcome.value, "reason": reason, "text": "E   it broke"}
        )
    log.append({"event": "finished", "exitstatus": code})
    jsonfile.write_text(folder / claims.TESTS, "".join(json.dumps(event) + "\n" for event in log))
    cases = [
        Case(suite="pytest", classname=junit_key(test)[0], name=junit_key(test)[1], outcome=outcome)
        for test, outcome in outcomes.items()
    ]
    report = Report(path=folder / claims.REPORT, cases=tuple(cases))
    jsonfile.write_text(folder / claims.REPORT, merge.to_xml({"x": report}).replace('classname="x.', 'classname="'))
    source = git.state(project)
    made_of = {
        "policy": digests.policy(project),
        "claims": digests.file(project / "tests/claims.yaml"),
        "tests": digests.suite(project, ["tests/faults"]),
    }
    facts: dict[str, Any] = {"schema": 1, "kind": "claims", "commit": source.commit, "dirty": source.dirty}
    facts |= {"digests": made_of, "exit_code": code, "signal": None, "problem": None, "lacks": ["/no/such/path"]}
    jsonfile.write(run.folder / claims.RESULT, {**facts, **result})


def weighed(project: Project, *arguments: Any, environ: Mapping[str, str] | None = None, **options: Any) -> Any:
    run = project.run()
    run.cell("library:reference")
    run.cell("server:reference")
    run.checks()
    leave(run, *arguments, **options)
    run.finish()
    return run.verdict(environ=environ)


def test_claims_that_hold_are_one_line_and_each_is_a_rule_with_what_it_excludes(claimed: Project) -> None:
    verdict = weighed(claimed)
    assert verdict.state is State.PASS
    cut = rule(verdict, "claim:cut")
    assert (cut.state, cut.part_of) == (State.PASS, "claims")
    assert cut.good == "held in 2 tests against: the connection is lost after the third event"
    assert cut.proves == "A stream that is cut off never completes a turn"
    assert cut.excludes == "what a real provider sends; other transports"
    beside = {f"checks/claims/{name}" for name in ("tests.jsonl", "observations.jsonl", "junit.xml")}
    assert set(cut.evidence) == {"checks/claims.json", *beside}
    lines = terminal.lines(verdict, "run")
    assert [line.split()[:2] for line in lines if "claim" in line] == [["✓", "claims"], ["?", "claim"]]
    assert rule(verdict, "claims").good == "their tests ran to the end; 2 of 3 hold, the others follow"


def test_what_the_machine_lacks_is_said_and_counts_in_ci(claimed: Project) -> None:
    verdict = weighed(claimed)
    elsewhere = rule(verdict, "claim:elsewhere")
    assert elsewhere.summary == "not proven: it needs /no/such/path, which the machine of the run lacks"
    assert not elsewhere.blocking
    insisting = weighed(claimed, environ={"CI": "true"})
    assert insisting.state is State.NOT_PROVEN
    assert rule(insisting, "claim:elsewhere").blocking


def test_a_claim_that_does_not_hold_leads_to_the_command_that_runs_it_alone(claimed: Project) -> None:
    residue = {"pending": ["a"], "terminal": "done"}
    seen = observation(
        CUT, seed=7, attempt=2, held=False, observed={"events": ["turn_started", "x"], "residue": residue}
    )
    verdict = weighed(claimed, {**OUTCOMES, CUT: Outcome.FAILED}, observed={CUT: seen})
    assert verdict.state is State.FAIL
    assert rule(verdict, "claim:cut").summary == (
        "events: event 2 is x; expected there: text_delta or turn_failed, and 2 more differences "
        f"({CUT}, seed 7, attempt 2)"
    )
    assert verdict.again == ("nox -s verify_release -- --claim cut",)
    assert rule(verdict, "claims").state is State.PASS
    (claimed.folder / "noxfile.py").unlink()
    claimed.commit()
    assert (
        "stackproof verify-release --claim cut"
        in weighed(claimed, {**OUTCOMES, CUT: Outcome.FAILED}, observed={CUT: seen}).again
    )


FITS_NOT = {"events": [], "residue": {"lost": 1}}


@pytest.mark.parametrize(
    ("outcomes", "observed", "state", "words"),
    [
        ({}, {FULL: None}, State.NOT_PROVEN, f"{FULL} ended without an observation"),
        ({FULL: Outcome.SKIPPED}, {}, State.NOT_PROVEN, f"{FULL} was skipped: {LACKS}"),
        ({FULL: Outcome.XFAILED}, {}, State.NOT_PROVEN, f"{FULL} is marked as an expected failure"),
        ({FULL: Outcome.FAILED}, {FULL: None}, State.FAIL, f"{FULL} failed: it broke"),
        ({FULL: Outcome.ERROR}, {}, State.FAIL, f"{FULL} ended with an error: it broke"),
        (
            {},
            {FULL: observation(FULL, observed=FITS_NOT)},
            State.FAIL,
            f"residue.lost: expected 0, observed 1 ({FULL})",
        ),
        (
            {},
            {FULL: observation(FULL, held=False)},
            State.NOT_PROVEN,
            f"{FULL} said that it does not hold, and what it ob",
        ),
    ],
)
def test_a_test_that_says_nothing_about_its_claim_proves_nothing(
    claimed: Project, outcomes: Mapping[str, Outcome], observed: Mapping[str, Any], state: State, words: str
) -> None:
    verdict = weighed(claimed, {**OUTCOMES, **outcomes}, observed=observed)
    found = rule(verdict, "claim:full")
    assert found.state is state
    assert any(finding.text.startswith(words) for finding in found.findings)
    assert verdict.state is not State.PASS


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"problem": "the tests did not end within 3 s"}, "the tests did not end within 3 s"),
        ({"signal": "SIGTERM"}, "the run was ended by SIGTERM"),
        ({"exit_code": None}, "pytest did not end by itself"),
        ({"exit_code": 1}, "pytest ended with 1, its session with 0"),
        ({"only": ["cut"]}, "the run asked for cut alone"),
        ({"commit": "0" * 40}, "its evidence is of commit 0000000"),
        ({"digests": {}}, "the claims file has changed since"),
        ({"digests": {}}, "the tests have changed since"),
        ({"digests": {}}, "their evidence was made under another policy"),
        ({"schema": 2}, "checks/claims.json is missing or cannot be read"),
        ({"lines": ("{",)}, "observations.jsonl holds 1 lines that are no observations"),
        (
            {
                "lines": (
                    {"event": "observed", "claim": "cut", "test": CUT, "observed": {"events": [1], "residue": {}}},
                )
            },
            "obs",
        ),
        ({"lines": (observation(CUT, claim="full"),)}, f"an observation of {CUT} for full fits no test and claim"),
        ({"lines": (observation(CUT, claim="gone"),)}, f"an observation of {CUT} for gone fits no test and claim"),
        ({"lines": ({"event": "serves", "tests": {CUT: "full"}},)}, "observations.jsonl holds 1 lines"),
    ],
)
def test_a_session_that_does_not_fit_is_not_proven(claimed: Project, options: dict[str, Any], words: str) -> None:
    verdict = weighed(claimed, **options)
    assert any(finding.text.startswith(words) for finding in rule(verdict, "claims").findings)
    assert verdict.state is not State.PASS


def test_claims_whose_session_never_ran_lead_to_one_command(claimed: Project) -> None:
    verdict = claimed.good_run().verdict()
    assert rule(verdict, "claim:full").summary == "not proven: its tests have not run"
    assert not [command for command in verdict.again if "--claim" in command]
    assert "nox -s verify_release" in verdict.again


def test_a_test_that_holds_when_it_runs_again_takes_nothing_back(claimed: Project) -> None:
    claimed.write("ci/release.yaml", POLICY + SECTION + "flaky: {allowed: 1}\n")
    claimed.commit()
    rerun = {"event": "test", "nodeid": FULL, "outcome": "rerun"}
    held = weighed(claimed, reruns=[rerun], observed={FULL: observation(FULL, attempt=2)})
    assert held.state is State.PASS
    assert f"{FULL} passed only when it ran again" in [each.text for each in rule(held, "claim:full").findings]
    first = observation(FULL, held=False, observed=FITS_NOT)
    verdict = weighed(claimed, reruns=[rerun], observed={FULL: observation(FULL, attempt=2)}, lines=(first,))
    assert rule(verdict, "claim:full").summary == f"residue.lost: expected 0, observed 1 ({FULL})"
    assert rule(verdict, "flaky").good == f"1 of 1 allowed: {FULL} in claims"


def test_a_test_that_serves_no_claim_may_not_fail_either(claimed: Project) -> None:
    other = "tests/faults/test_a.py::test_other"
    verdict = weighed(claimed, {**OUTCOMES, other: Outcome.FAILED})
    texts = [finding.text for finding in rule(verdict, "claims").findings]
    assert f"{other} failed: it broke" in texts
    assert f"{other} is not in ci/expected/claims.json (stackproof policy update)" in texts
    fewer = weighed(claimed, {test: outcome for test, outcome in OUTCOMES.items() if test != ALSO_CUT})
    assert f"{ALSO_CUT} is expected and was not collected" in rule(fewer, "claims").summary


@pytest.mark.parametrize(
    "name",
    ["checks/claims.json", *(f"checks/claims/{each}" for each in (claims.OBSERVATIONS, claims.TESTS, claims.REPORT))],
)
def test_a_file_that_is_gone_or_changed_after_the_run_is_named(claimed: Project, name: str) -> None:
    run = claimed.run()
    run.cell("library:reference")
    run.cell("server:reference")
    run.checks()
    leave(run)
    run.finish()
    assert json.loads((run.folder / "manifest.json").read_text())["files"][name]["count"] == {
        "observations.jsonl": 4, "tests.jsonl": 6, "junit.xml": 4,
    }.get(Path(name).name)  # fmt: skip
    content = (run.folder / name).read_bytes()
    (run.folder / name).write_bytes(content + b" ")
    assert f"{name} was changed after the run" in rule(run.verdict(), "claims").summary
    (run.folder / name).unlink()
    verdict = run.verdict()
    assert verdict.state is State.NOT_PROVEN
    assert any(
        finding.text == f"{name} is listed in the manifest and gone" for finding in rule(verdict, "claims").findings
    )


def test_without_a_session_nothing_is_proven(claimed: Project) -> None:
    verdict = claimed.good_run().verdict()
    assert verdict.state is State.NOT_PROVEN
    assert rule(verdict, "claims").summary.startswith("not proven: their tests have not run")
    assert rule(verdict, "claim:cut").summary == "not proven: its tests have not run"


def test_a_claims_file_that_differs_from_the_base_is_said_with_the_policy(claimed: Project) -> None:
    claimed.git("branch", "base")
    claimed.write("tests/claims.yaml", CLAIMS.replace("[e]", "[e, g]"))
    claimed.commit()
    verdict = weighed(claimed, environ={"CI_MERGE_REQUEST_DIFF_BASE_SHA": "base"})
    assert "the policy differs from base: tests/claims.yaml" in [each.text for each in rule(verdict, "source").findings]


def test_the_tests_of_a_session_become_what_is_expected_but_not_what_a_machine_lacks(claimed: Project) -> None:
    run = claimed.good_run()
    leave(run)
    (claimed.folder / "ci/expected/claims.json").unlink()
    lines = update_expected(claimed.folder, run.folder)
    assert "claims: 4 tests, 0 skipped, 0 expected to fail" in lines
    found = expected.load(claimed.folder, "claims")
    assert found is not None
    assert (found.nodeids, dict(found.skips)) == (frozenset(SERVES), {})
    leave(run, only=["cut"])
    assert "claims: not in this run, left as it is" in update_expected(claimed.folder, run.folder)


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ("claims: {tests: [tests/faults]}", "ci/release.yaml:8: 'claims' lacks 'file'"),
        ("claims: {file: no.yaml, tests: [tests/faults]}", "ci/release.yaml:8: there is no claims file no.yaml"),
        ("claims: {file: tests/claims.yaml}", "ci/release.yaml:8: 'claims' lacks 'tests'"),
        (
            "claims: {file: tests/claims.yaml, tests: [tests/fault]}",
            "ci/release.yaml:8: 'tests' of 'claims' names tests/fault",
        ),
        (
            "claims: {file: tests/claims.yaml, tests: [tests], required: some}",
            "'required' of 'claims' must be 'all' or a",
        ),
        (
            "claims: {file: tests/claims.yaml, tests: [tests], required: []}",
            "'required' of 'claims' must be 'all' or a",
        ),
        ("claims: {file: tests/claims.yaml, tests: [tests], required: [ful]}", "names 'ful', did you mean 'full'"),
        ("claims: {file: tests/claims.yaml, tests: [tests], timeout: 0}", "must be a positive number of seconds"),
        ("claims: {file: tests/claims.yaml, tests: [tests], test: 1}", "unknown key 'test' in 'claims', did you mean"),
    ],
)
def test_a_mistake_in_the_section_is_named_with_its_line(claimed: Project, section: str, words: str) -> None:
    claimed.write("ci/release.yaml", POLICY + section + "\n")
    with pytest.raises(UsageError) as raised:
        policy.load(claimed.folder)
    assert words in raised.value.message


def test_a_claim_that_is_not_required_is_said_and_does_not_count(claimed: Project) -> None:
    claimed.write("ci/release.yaml", POLICY + SECTION.replace("]}", "], required: [cut]}"))
    claimed.commit()
    verdict = weighed(claimed, observed={FULL: None}, environ={"CI": "1"})
    assert verdict.state is State.PASS
    assert rule(verdict, "claim:full").state is State.NOT_PROVEN
    assert "      not required here: said, and not counted" in terminal.lines(verdict, "run")
