"""What must hold for every run: nothing becomes releasable by taking evidence away or by adding a failure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path

from hypothesis import assume, given
from hypothesis import strategies as st

from stackproof.evidence.benchmark import BenchmarkFacts, BenchmarkLine
from stackproof.evidence.claims import ClaimFacts, Observed
from stackproof.evidence.junit import Case, Report
from stackproof.evidence.machine import Machine
from stackproof.evidence.manifest import Damage, DamageKind, ManifestFacts
from stackproof.evidence.nodeids import junit_key
from stackproof.evidence.outcomes import Outcome
from stackproof.evidence.read import CellFacts, Evidence
from stackproof.evidence.recordings import RecordingFacts
from stackproof.evidence.testlog import TestEntry, TestLog
from stackproof.evidence.typecheck import TypecheckFacts, TypecheckState
from stackproof.faults import claim_events
from stackproof.faults.claim import Observation
from stackproof.faults.claim_file import Claim
from stackproof.verdict import render, terminal
from stackproof.verdict.current import Current
from stackproof.verdict.decide import decide
from stackproof.verdict.expected import Expectation
from stackproof.verdict.policy import (
    BenchmarkPolicy,
    CellPolicy,
    ClaimsPolicy,
    FlakyPolicy,
    Policy,
    TypecheckPolicy,
    Waiver,
)
from stackproof.verdict.records import State

COMMIT, POLICY, RUN = "c" * 40, "p" * 64, "abc123"
TODAY = date(2026, 12, 1)
TESTS = tuple(f"tests/test_a.py::test_{letter}" for letter in "abcd")
CELLS = tuple(CellPolicy(suite="base", setup="ollama", stack=stack) for stack in ("library:x", "server:x"))


def cell(wanted: CellPolicy, outcomes: Mapping[str, Outcome], *, exit_code: int | None = None) -> CellFacts:
    bad = any(outcome.bad for outcome in outcomes.values())
    code = int(bad) if exit_code is None else exit_code
    entries = {test: TestEntry(nodeid=test, outcome=outcome, reason="r") for test, outcome in outcomes.items()}
    cases = tuple(
        Case(suite="s", classname=junit_key(test)[0], name=junit_key(test)[1], outcome=outcome)
        for test, outcome in outcomes.items()
    )
    return CellFacts(
        id=wanted.id,
        run_id=RUN,
        suite=wanted.suite,
        setup=wanted.setup,
        inference_mode="replay",
        commit=COMMIT,
        policy=POLICY,
        suite_digest="s",
        recordings_digest="r",
        exit_code=code,
        sealed="namespace",
        report=Report(path=Path(wanted.id), cases=cases),
        log=TestLog(
            present=True,
            collected=tuple(outcomes),
            tests=entries,
            calls={"replayed": 1},
            exitstatus=code,
        ),
    )


def evidence(outcomes: Mapping[str, Outcome]) -> Evidence:
    times = tuple(0.01 for _ in range(20))
    return Evidence(
        manifest=ManifestFacts(run_id=RUN, commit=COMMIT, policy=POLICY, files={"plan.json": "d"}),
        cells={wanted.id: cell(wanted, outcomes) for wanted in CELLS},
        typecheck=TypecheckFacts(
            state=TypecheckState.SUCCESS, exit_code=0, files=("a.py",), roots=("a",), commit=COMMIT, policy=POLICY
        ),
        benchmark=BenchmarkFacts(
            lines={"turns": BenchmarkLine(name="turns", turns=times, floor=times)},
            machine=Machine(processor="p", cpus=1, system="s", python="y"),
            date="2026-12-01",
            commit=COMMIT,
            policy=POLICY,
        ),
        recordings=RecordingFacts(files=1, commit=COMMIT, policy=POLICY),
        claims=claim_facts(dict.fromkeys(SERVES, Outcome.PASSED)),
    )


def claim_facts(outcomes: Mapping[str, Outcome], differing: Collection[str] = ()) -> ClaimFacts:
    """A session over tests that serve claims; each that ran observed what its claim says, or not. None was skipped."""
    code = int(any(outcome.bad for outcome in outcomes.values()))
    session = cell(CELLS[0], outcomes, exit_code=code)
    return ClaimFacts(
        commit=COMMIT,
        policy=POLICY,
        claims="f",
        tests="t",
        exit_code=code,
        serves={test: name for test, name in SERVES.items() if test in outcomes},
        observed=tuple(
            Observed(
                claim=SERVES[test],
                test=test,
                attempt=1,
                observation=Observation(events=[{"type": "ended"}], residue={"left": int(test in differing)}),
                held=test not in differing,
            )
            for test, outcome in outcomes.items()
            if outcome.executed
        ),
        report=session.report,
        log=session.log,
    )


def claim(name: str) -> Claim:
    ended = claim_events.expected("ended")
    return Claim(name=name, invariant="i", fault="f", events=(ended,), residue={"left": 0}, excludes=("e",))


SERVES = {"tests/test_c.py::test_a": "one", "tests/test_c.py::test_b": "one", "tests/test_c.py::test_c": "two"}
CLAIMS = ClaimsPolicy(
    file=Path("claims.yaml"),
    claims={name: claim(name) for name in ("one", "two")},
    tests=("tests/test_c.py",),
    required=frozenset({"one", "two"}),
)
WAIVER = Waiver(test=TESTS[3], reason="r", owner="o", expires=TODAY)
RULES = Policy(
    cells=CELLS,
    typecheck=TypecheckPolicy(paths=("a",)),
    benchmarks=(BenchmarkPolicy(name="turns", gate=1.2),),
    claims=CLAIMS,
    flaky=FlakyPolicy(allowed=2),
    waivers=(WAIVER,),
)
NOW = Current(
    commit=COMMIT,
    dirty=False,
    policy=POLICY,
    today=TODAY,
    suites={wanted.id: "s" for wanted in CELLS},
    recordings={wanted.id: "r" for wanted in CELLS},
    expected={
        "claims": Expectation(nodeids=frozenset(SERVES)),
        **{
            wanted.id: Expectation(nodeids=frozenset(TESTS), skips={TESTS[2]: "r"}, xfails=frozenset({TESTS[1]}))
            for wanted in CELLS
        },
    },
    claims="f",
    claim_tests="t",
)
OUTCOMES = st.fixed_dictionaries({test: st.sampled_from(list(Outcome)) for test in TESTS})
# Runs that are often green, so that the properties below have something to lose.
LIKELY = st.fixed_dictionaries(
    {
        TESTS[0]: st.just(Outcome.PASSED),
        TESTS[1]: st.sampled_from([Outcome.PASSED, Outcome.XFAILED, Outcome.FLAKY]),
        TESTS[2]: st.sampled_from([Outcome.PASSED, Outcome.SKIPPED]),
        TESTS[3]: st.sampled_from([Outcome.PASSED, Outcome.FAILED]),
    }
)
RUNS = st.one_of(OUTCOMES, LIKELY)


def state(found: Evidence, rules: Policy = RULES, now: Current = NOW) -> State:
    return decide(rules, found, now).state


def without(found: Evidence, what: str) -> Evidence:  # noqa: PLR0911 - one for each piece
    """The evidence without one piece, as if it had never been written."""
    kind, _, name = what.partition(":")
    one = found.cells.get(name)
    match kind:
        case "cell":
            return replace(found, cells={key: value for key, value in found.cells.items() if key != name})
        case "report" if one is not None:
            report = Report(path=one.report.path, problems=())
            return replace(found, cells={**found.cells, name: replace(one, report=report)})
        case "log" if one is not None:
            return replace(found, cells={**found.cells, name: replace(one, log=TestLog())})
        case "calls" if one is not None:
            return replace(found, cells={**found.cells, name: replace(one, log=replace(one.log, calls=None))})
        case "result" if one is not None:
            return replace(found, cells={**found.cells, name: CellFacts(id=name, result=False)})
        case "manifest":
            return replace(
                found, manifest=ManifestFacts(damage=(Damage(kind=DamageKind.NO_MANIFEST, path="manifest.json"),))
            )
        case "typecheck":
            return replace(found, typecheck=None)
        case "benchmark":
            return replace(found, benchmark=None)
        case "recordings":
            return replace(found, recordings=None)
        case "claims":
            return replace(found, claims=claims_without(found.claims, name))
        case _:
            raise AssertionError(what)


def claims_without(facts: ClaimFacts | None, file: str) -> ClaimFacts | None:
    """What is read of a session when one of its files was never written."""
    if facts is None or file == "all":
        return None
    match file:
        case "result":
            bare = ClaimFacts(result=False)
            return replace(bare, serves=facts.serves, observed=facts.observed, report=facts.report, log=facts.log)
        case "observations":
            return replace(facts, serves={}, observed=())
        case "log":
            return replace(facts, log=TestLog())
        case "report":
            return replace(facts, report=Report(path=Path("junit.xml")))
        case _:
            raise AssertionError(file)


PIECES = st.sampled_from(
    [f"{kind}:{wanted.id}" for kind in ("cell", "report", "log", "calls", "result") for wanted in CELLS]
    + ["manifest", "typecheck", "benchmark", "recordings"]
    + [f"claims:{file}" for file in ("all", "result", "observations", "log", "report")]
)


@given(LIKELY)
def test_likely_runs_are_green(outcomes: dict[str, Outcome]) -> None:
    assert state(evidence(outcomes)) is State.PASS


@given(RUNS, PIECES)
def test_taking_evidence_away_never_makes_a_run_releasable(outcomes: dict[str, Outcome], piece: str) -> None:
    assert state(without(evidence(outcomes), piece)) is not State.PASS


@given(RUNS, st.sampled_from(CELLS), st.sampled_from(TESTS[:3]), st.sampled_from([Outcome.FAILED, Outcome.ERROR]))
def test_a_failing_test_that_no_waiver_covers_is_never_releasable(
    outcomes: dict[str, Outcome], wanted: CellPolicy, test: str, bad: Outcome
) -> None:
    found = evidence(outcomes)
    worse = cell(wanted, {**outcomes, test: bad})
    assert state(replace(found, cells={**found.cells, wanted.id: worse})) is State.FAIL


@given(RUNS, st.sampled_from(CELLS), st.sampled_from([Outcome.FAILED, Outcome.ERROR]))
def test_another_failing_case_in_the_report_never_helps(
    outcomes: dict[str, Outcome], wanted: CellPolicy, bad: Outcome
) -> None:
    found = evidence(outcomes)
    one = found.cells[wanted.id]
    more = Case(suite="s", classname="tests.test_z", name="test_z", outcome=bad)
    report = replace(one.report, cases=(*one.report.cases, more))
    worse = replace(found, cells={**found.cells, wanted.id: replace(one, report=report)})
    assert state(worse) is State.FAIL


@given(RUNS, st.sampled_from(CELLS), st.sampled_from(TESTS))
def test_a_lost_test_never_helps(outcomes: dict[str, Outcome], wanted: CellPolicy, test: str) -> None:
    found = evidence(outcomes)
    fewer = cell(wanted, {key: value for key, value in outcomes.items() if key != test})
    assert state(replace(found, cells={**found.cells, wanted.id: fewer})) is State.FAIL


@given(RUNS, st.integers(min_value=-20, max_value=20).filter(lambda code: code not in (0, 1)))
def test_no_other_exit_code_than_zero_is_green(outcomes: dict[str, Outcome], code: int) -> None:
    found = evidence(outcomes)
    assert state(replace(found, cells={**found.cells, CELLS[0].id: cell(CELLS[0], outcomes, exit_code=code)})) is not (
        State.PASS
    )


@given(RUNS)
def test_a_waiver_that_has_expired_bears_nothing(outcomes: dict[str, Outcome]) -> None:
    assume(outcomes[TESTS[3]].bad)
    assert state(evidence(outcomes), now=replace(NOW, today=date(2026, 12, 2))) is State.FAIL


@given(RUNS)
def test_a_stricter_policy_never_helps(outcomes: dict[str, Outcome]) -> None:
    found = evidence(outcomes)
    stricter = replace(RULES, flaky=FlakyPolicy(), waivers=())
    assert state(found, stricter).severity >= state(found).severity


@given(RUNS)
def test_a_verdict_depends_on_its_arguments_alone(outcomes: dict[str, Outcome]) -> None:
    first, second = (decide(RULES, evidence(outcomes), NOW) for _ in range(2))
    assert render.to_json(first) == render.to_json(second)
    assert render.to_markdown(first) == render.to_markdown(second)
    assert terminal.lines(first, "run") == terminal.lines(second, "run")
    assert (first.state is State.PASS) == (first.exit_code == 0)


def test_a_policy_without_rules_that_hold_proves_nothing() -> None:
    nothing = Evidence(manifest=ManifestFacts(damage=(Damage(kind=DamageKind.NO_MANIFEST, path="manifest.json"),)))
    assert state(nothing) is State.NOT_PROVEN
