"""The rules for claims: one about the session that ran their tests, and one for each claim, its exclusions with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from stackproof.evidence.claims import FOLDER, OBSERVATIONS, REPORT, RESULT, TESTS, ClaimFacts, Observed
from stackproof.evidence.outcomes import Outcome
from stackproof.evidence.read import CellFacts, Evidence
from stackproof.faults import claim
from stackproof.faults.claim_file import Claim
from stackproof.verdict.cell_rule import (
    as_expected,
    because,
    belongs_to_source,
    damage_words,
    ended,
    exit_code_fits,
    verb,
)
from stackproof.verdict.current import Current
from stackproof.verdict.expected import CLAIMS
from stackproof.verdict.policy import ClaimsPolicy, Policy
from stackproof.verdict.records import Finding, Rule, State, failed, not_proven, remark
from stackproof.verdict.tests_of import NO_TESTS, Facts, TestFact, Tests, tests_of

_AGAIN = "nox -s verify_release"
_FILES = (RESULT, *(FOLDER / name for name in (TESTS, OBSERVATIONS, REPORT)))
EVIDENCE = tuple(path.as_posix() for path in _FILES)


def claims_rules(wanted: ClaimsPolicy, policy: Policy, evidence: Evidence, current: Current) -> tuple[Rule, ...]:
    """The rule of the session, whose line also speaks for the claims that hold, and then the rule of each claim."""
    tests = claim_tests(evidence)
    rules = each_claim(wanted, evidence.claims, insist=current.insist)
    return _session(wanted, rules, policy=policy, evidence=evidence, current=current, tests=tests), *rules


def each_claim(wanted: ClaimsPolicy, facts: ClaimFacts | None, *, insist: bool) -> tuple[Rule, ...]:
    """The rule of each claim. insist: what this machine lacks counts."""
    tests = NO_TESTS if facts is None else tests_of(as_cell(facts))
    return tuple(_claim(each, wanted, facts, tests, insist=insist) for each in wanted.claims.values())


def claim_tests(evidence: Evidence) -> Tests:
    """The tests of the session, from both its witnesses; none where it did not run."""
    if evidence.claims is None:
        return NO_TESTS
    return tests_of(as_cell(evidence.claims))


def unable_tests(facts: ClaimFacts, claims: Mapping[str, Claim]) -> frozenset[str]:
    """Tests that serve claims which need what the machine of the run lacks."""
    return frozenset(
        test for test, name in facts.serves.items() if name in claims and _lacks(facts, claims[name].environment)
    )


def as_cell(facts: ClaimFacts) -> CellFacts:
    """The session as what rules about any session of tests take."""
    return CellFacts(id=CLAIMS, exit_code=facts.exit_code, signal=facts.signal, report=facts.report, log=facts.log)


def _session(
    wanted: ClaimsPolicy, rules: Sequence[Rule], *, policy: Policy, evidence: Evidence, current: Current, tests: Tests
) -> Rule:
    facts = evidence.claims
    findings = [
        not_proven(damage_words(each)) for each in evidence.manifest.damage if each.path.startswith(FOLDER.as_posix())
    ]
    if facts is None:
        findings.append(not_proven("their tests have not run"))
    else:
        findings += _belongs(facts, policy, current)
        findings += _ran(facts, tests)
        findings += _others(wanted, facts, tests)
        findings += _expected(wanted, facts, tests, current)
    held = sum(rule.state is State.PASS for rule in rules)
    hold = f"{held} of {len(rules)} hold"
    return Rule(
        id=CLAIMS,
        title=CLAIMS,
        # Green though some do not hold: this line is about the session, and theirs follow.
        good=hold if held == len(rules) else f"their tests ran to the end; {hold}, the others follow",
        findings=tuple(findings),
        proves=f"the tests of {wanted.file.as_posix()} ran to their end on this machine, exactly the expected ones",
        excludes="what no claim says, and what each claim excludes in its own rule; other machines and schedules",
        evidence=EVIDENCE,
        again=_AGAIN,
    )


def _belongs(facts: ClaimFacts, policy: Policy, current: Current) -> Iterator[Finding]:
    if not facts.result:
        yield not_proven(f"{RESULT.as_posix()} is missing or cannot be read")
        return
    yield from belongs_to_source(facts.commit, facts.dirty, policy, current)
    if facts.policy != current.policy:
        yield not_proven("their evidence was made under another policy")
    if facts.claims != current.claims:
        yield not_proven("the claims file has changed since")
    if facts.tests != current.claim_tests:
        yield not_proven("the tests have changed since")
    if facts.only is not None:
        yield not_proven(f"the run asked for {', '.join(facts.only)} alone")


def _ran(facts: ClaimFacts, tests: Tests) -> Iterator[Finding]:
    if facts.problem is not None:
        yield not_proven(facts.problem)
    yield from ended(as_cell(facts))
    yield from (not_proven(problem.text) for problem in facts.report.problems)
    if not tests.facts:
        yield not_proven("no test ran")
    elif not facts.report.problems:
        yield from (not_proven(text) for text in tests.contradictions)
    yield from exit_code_fits(as_cell(facts), tests)
    if facts.damaged:
        yield not_proven(f"{OBSERVATIONS} holds {facts.damaged} lines that are no observations")


def _others(wanted: ClaimsPolicy, facts: ClaimFacts, tests: Tests) -> Iterator[Finding]:
    """What no claim's own rule speaks about: tests that serve none, and observations that belong to none."""
    served = {test for test, name in facts.serves.items() if name in wanted.claims}
    for fact in tests.facts.others:
        if fact.outcome.bad and fact.name not in served:
            yield failed(f"{fact.name} {verb(fact)}{because(fact)}")
    for one in facts.observed:
        if one.claim not in wanted.claims or facts.serves.get(one.test) != one.claim:
            yield not_proven(f"an observation of {one.test} for {one.claim} fits no test and claim")


def _expected(wanted: ClaimsPolicy, facts: ClaimFacts, tests: Tests, current: Current) -> Iterator[Finding]:
    if not facts.result or not facts.serves:
        return  # which skips this machine explains is not known
    unable = unable_tests(facts, wanted.claims)
    # That they are skipped is said by the rules of their claims.
    others = [fact for fact in tests.facts if fact.outcome is not Outcome.SKIPPED or fact.name not in unable]
    asked = replace(tests, facts=Facts(others))
    yield from as_expected(CLAIMS, current.expected.get(CLAIMS), as_cell(facts), asked)


def _claim(each: Claim, wanted: ClaimsPolicy, facts: ClaimFacts | None, tests: Tests, *, insist: bool) -> Rule:
    findings: list[Finding] = []
    absent = False
    mine: list[str] = []
    if facts is None:
        findings.append(not_proven("its tests have not run"))
    else:
        mine = [test for test, name in facts.serves.items() if name == each.name]
        observed = [one for one in facts.observed if one.claim == each.name]
        outcomes = {fact.name: fact for fact in tests.facts if fact.name in mine}
        lacks = _lacks(facts, each.environment)
        ran = any(fact.outcome is not Outcome.SKIPPED for fact in outcomes.values())
        if lacks and not observed and not ran:
            absent = True
            findings.append(not_proven(f"it needs {' and '.join(lacks)}, which the machine of the run lacks"))
        else:
            findings += _findings(each, facts, mine, observed, outcomes)
    return Rule(
        id=f"claim:{each.name}",
        title=f"claim {each.name}",
        good=f"held in {len(mine)} test{'' if len(mine) == 1 else 's'} against: {each.fault}",
        findings=tuple(findings),
        proves=each.invariant,
        excludes="; ".join(each.excludes),
        evidence=EVIDENCE,
        # What the machine lacks it would lack again; where no test ran, the session's line leads to all of them.
        again=None if absent or facts is None else f"{_AGAIN} -- --claim {each.name}",
        blocking=each.name in wanted.required and (insist or not absent),
        part_of=CLAIMS,
    )


def _findings(
    each: Claim, facts: ClaimFacts, mine: list[str], observed: list[Observed], outcomes: Mapping[str, TestFact]
) -> Iterator[Finding]:
    told: set[str] = set()
    for one in observed:
        differences = claim.compare(each, one.observation)
        if differences:
            # A test that passes when it runs again takes nothing back: the invariant was seen broken.
            told.add(one.test)
            yield failed(_broken(one, differences))
        elif not one.held:
            yield not_proven(f"{one.test} said that it does not hold, and what it observed says that it does")
    held = {one.test for one in observed if one.held}
    if not mine:
        never = not facts.log.collected
        yield not_proven("its tests did not run" if never else "no test serves it")
    for test in mine:
        fact = outcomes.get(test)
        if fact is None:
            yield not_proven(f"{test} has no outcome")
        elif fact.outcome.bad and test not in told:
            yield failed(f"{test} {verb(fact)}{because(fact)}")
        elif not fact.outcome.bad:
            yield from _quiet(fact, observed=test in held)


def _quiet(fact: TestFact, *, observed: bool) -> Iterator[Finding]:
    """A test that did not fail: whether it says anything about its claim."""
    match fact.outcome:
        case Outcome.SKIPPED:
            yield not_proven(f"{fact.name} was skipped{because(fact)}")
        case Outcome.XFAILED:
            yield not_proven(f"{fact.name} is marked as an expected failure{because(fact)}")
        case _ if not observed:
            yield not_proven(f"{fact.name} ended without an observation")
        case Outcome.FLAKY:
            yield remark(f"{fact.name} passed only when it ran again")
        case _:
            return


def _broken(one: Observed, differences: tuple[str, ...]) -> str:
    first, more = differences[0], len(differences) - 1
    others = f", and {more} more difference{'' if more == 1 else 's'}" if more else ""
    seed = "" if one.observation.seed is None else f", seed {one.observation.seed}"
    again = "" if one.attempt == 1 else f", attempt {one.attempt}"
    return f"{first}{others} ({one.test}{seed}{again})"


def _lacks(facts: ClaimFacts, environment: tuple[str, ...]) -> list[str]:
    return [word for word in environment if word in facts.lacks]
