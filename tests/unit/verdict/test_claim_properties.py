"""What must hold of claims in every run: nothing makes a claim proven but an observation that fits, from every test."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st
from tests.unit.verdict.test_properties import (
    CELLS,
    CLAIMS,
    LIKELY,
    NOW,
    RULES,
    SERVES,
    cell,
    claim,
    claim_facts,
    evidence,
    state,
    without,
)
from tests.unit.verdict.test_properties import (
    TESTS as CELL_TESTS,
)

from stackproof.evidence.claims import ClaimFacts
from stackproof.evidence.junit import Case
from stackproof.evidence.manifest import Damage, DamageKind
from stackproof.evidence.outcomes import Outcome
from stackproof.evidence.read import Evidence
from stackproof.faults.claim import Observation, compare
from stackproof.verdict.decide import decide
from stackproof.verdict.expected import Expectation
from stackproof.verdict.records import State

CELL = CELLS[0]
EXPECTED = Expectation(nodeids=frozenset(SERVES))
TESTS = st.sampled_from(list(SERVES))
OUTCOMES = st.fixed_dictionaries({test: st.sampled_from(list(Outcome)) for test in SERVES})
DIFFERING = st.frozensets(TESTS)
FILES = st.sampled_from([f"claims:{file}" for file in ("all", "result", "observations", "log", "report")])
GREEN = dict.fromkeys(CELL_TESTS, Outcome.PASSED)


def found(outcomes: dict[str, Outcome], differing: AbstractSet[str] = frozenset()) -> Evidence:
    return with_claims(claim_facts(outcomes, differing))


def with_claims(facts: ClaimFacts) -> Evidence:
    return replace(evidence(GREEN), claims=facts)


@given(OUTCOMES, DIFFERING)
def test_a_run_is_green_only_when_every_test_ran_and_observed_what_its_claim_says(
    outcomes: dict[str, Outcome], differing: AbstractSet[str]
) -> None:
    green = state(found(outcomes, differing)) is State.PASS
    good = {Outcome.PASSED, Outcome.XPASSED, Outcome.FLAKY}
    flaky = sum(outcome is Outcome.FLAKY for outcome in outcomes.values())
    assert green == (set(outcomes.values()) <= good and not differing and flaky <= RULES.flaky.allowed)


@given(OUTCOMES, DIFFERING, FILES)
def test_taking_a_file_about_claims_away_never_makes_a_run_releasable(
    outcomes: dict[str, Outcome], differing: AbstractSet[str], file: str
) -> None:
    assert state(without(found(outcomes, differing), file)) is not State.PASS


@given(OUTCOMES, DIFFERING, st.data())
def test_altering_what_was_observed_never_makes_a_run_releasable(
    outcomes: dict[str, Outcome], differing: AbstractSet[str], data: st.DataObject
) -> None:
    facts = claim_facts(outcomes, differing)
    keep = data.draw(st.lists(st.booleans(), min_size=len(facts.observed), max_size=len(facts.observed)))
    fits = Observation(events=[{"type": "ended"}], residue={"left": 0})
    assert not compare(claim("one"), fits)
    forged = tuple(
        replace(one, observation=fits, held=True) for one, kept in zip(facts.observed, keep, strict=True) if kept
    )
    before = with_claims(facts)
    changed = Damage(kind=DamageKind.CHANGED, path="checks/claims/observations.jsonl")
    after = replace(
        before, claims=replace(facts, observed=forged), manifest=replace(before.manifest, damage=(changed,))
    )
    assert state(after) is not State.PASS


@given(OUTCOMES, DIFFERING, TESTS, st.sampled_from([1, 2, 3]))
def test_an_observation_that_differs_is_never_taken_back_by_another_attempt(
    outcomes: dict[str, Outcome], differing: AbstractSet[str], test: str, attempt: int
) -> None:
    facts = claim_facts(outcomes, differing)
    second = tuple(replace(one, attempt=2) for one in facts.observed)
    assume(any(one.test == test for one in second))
    broken = Observation(events=[], residue={"left": 0})
    first = tuple(replace(one, observation=broken, attempt=attempt) for one in second if one.test == test)
    assert state(with_claims(replace(facts, observed=(*first, *second)))) is State.FAIL


@given(OUTCOMES, DIFFERING, st.sampled_from([Outcome.FAILED, Outcome.ERROR]), st.booleans())
def test_another_failing_case_never_helps(
    outcomes: dict[str, Outcome], differing: AbstractSet[str], bad: Outcome, logged: bool
) -> None:
    facts = claim_facts(outcomes, differing)
    if logged:
        worse = cell(CELL, {**outcomes, "tests/test_c.py::test_more": bad})
        facts = replace(facts, report=worse.report, log=worse.log)
    else:
        more = Case(suite="s", classname="tests.test_z", name="test_z", outcome=bad)
        facts = replace(facts, report=replace(facts.report, cases=(*facts.report.cases, more)))
    assert state(with_claims(facts)) is State.FAIL


@given(OUTCOMES, DIFFERING, TESTS)
def test_a_lost_test_never_helps(outcomes: dict[str, Outcome], differing: AbstractSet[str], test: str) -> None:
    fewer = {key: value for key, value in outcomes.items() if key != test}
    assert state(found(fewer, differing)) is State.FAIL


@given(OUTCOMES, DIFFERING, TESTS, st.sampled_from(["one", "two", "three", None]))
def test_giving_a_test_to_another_claim_never_makes_a_run_releasable(
    outcomes: dict[str, Outcome], differing: AbstractSet[str], test: str, other: str | None
) -> None:
    assume(other != SERVES[test])
    facts = claim_facts(outcomes, differing)
    serves = {key: value for key, value in facts.serves.items() if key != test}
    moved = replace(facts, serves=serves if other is None else {**serves, test: other})
    assert state(with_claims(moved)) is not State.PASS


@given(OUTCOMES, DIFFERING, st.sampled_from(["commit", "policy", "claims", "tests", "only", "problem", "signal"]))
def test_evidence_of_something_else_is_never_green(
    outcomes: dict[str, Outcome], differing: AbstractSet[str], field: str
) -> None:
    other = {"only": ("one",)}.get(field, "other")
    facts = claim_facts(outcomes, differing)
    assert state(with_claims(replace(facts, **{field: other}))) is not State.PASS  # type: ignore[arg-type]


@given(OUTCOMES, DIFFERING, st.booleans())
def test_what_a_machine_lacks_excuses_only_what_did_not_run_there(
    outcomes: dict[str, Outcome], differing: AbstractSet[str], insist: bool
) -> None:
    needy = replace(claim("one"), environment=("tmpfs",))
    rules = replace(RULES, claims=replace(CLAIMS, claims={**CLAIMS.claims, "one": needy}))
    facts = replace(claim_facts(outcomes, differing), lacks=frozenset({"tmpfs"}))
    verdict = decide(rules, with_claims(facts), replace(NOW, insist=insist))
    without_lack = decide(rules, found(outcomes, differing), replace(NOW, insist=insist))
    serving = [outcome for test, outcome in outcomes.items() if SERVES[test] == "one"]
    if Outcome.SKIPPED not in serving:
        assert verdict.state is without_lack.state
    elif insist or set(serving) != {Outcome.SKIPPED}:
        assert verdict.state is not State.PASS


@given(LIKELY)
def test_claims_that_nobody_requires_may_be_not_proven_and_may_not_fail(outcomes: dict[str, Outcome]) -> None:
    rules = replace(RULES, claims=replace(CLAIMS, required=frozenset({"two"})))
    base = evidence(outcomes)
    skipped = dict(zip(SERVES, (Outcome.SKIPPED, Outcome.PASSED, Outcome.PASSED), strict=True))
    now = replace(NOW, expected={**NOW.expected, "claims": replace(EXPECTED, skips={next(iter(SERVES)): "r"})})
    assert decide(rules, replace(base, claims=claim_facts(skipped)), now).state is State.PASS
    failing = claim_facts({**skipped, next(iter(SERVES)): Outcome.FAILED}, {next(iter(SERVES))})
    assert decide(rules, replace(base, claims=failing), now).state is State.FAIL
