"""The verdict as a pure function: no file, no clock, no environment."""

from __future__ import annotations

from dataclasses import replace

from stackproof.evidence.read import CellFacts, Evidence
from stackproof.verdict.cell_rule import cell_rule, is_absent
from stackproof.verdict.check_rules import benchmark_rule, types_rule
from stackproof.verdict.claims_rule import claim_tests, claims_rules
from stackproof.verdict.current import Current
from stackproof.verdict.live_rule import live_rule
from stackproof.verdict.policy import Policy
from stackproof.verdict.records import Rule, Verdict
from stackproof.verdict.run_rules import evidence_rule, flaky_rule, recordings_rule, sealed_rule, source_rule
from stackproof.verdict.standing import standing
from stackproof.verdict.tests_of import NO_TESTS, tests_of
from stackproof.verdict.waiving import waivers_rule


def decide(policy: Policy, evidence: Evidence, current: Current) -> Verdict:
    """Compare what the policy expects of `current` with what was found. Rules come in the policy's order."""
    wanted = [cell.id for cell in policy.cells]
    cells = {name: evidence.cells[name] for name in wanted if name in evidence.cells}
    # What this machine cannot start did nothing that these rules could ask about; its own rule says that it is absent.
    started = {name: cell for name, cell in cells.items() if not is_absent(cell)}
    tests = {name: tests_of(cell) for name, cell in cells.items()}
    damage = evidence.manifest.damage
    rules: list[Rule] = [source_rule(policy, evidence, current), evidence_rule(wanted, evidence)]
    for cell in policy.cells:
        joined = tests.get(cell.id, NO_TESTS)
        rules.append(
            cell_rule(cell, policy=policy, evidence=evidence, current=current, tests=joined, twin=_twin(cell.id, cells))
        )
    if policy.typecheck is not None:
        rules.append(types_rule(policy.typecheck, evidence.typecheck, policy, current, damage))
    rules += [benchmark_rule(each, evidence.benchmark, policy, current, damage) for each in policy.benchmarks]
    if policy.claims is not None:
        rules += claims_rules(policy.claims, policy, evidence, current)
    smokes, stands = evidence.live + current.live, []
    if policy.live is not None:
        stands = [
            standing(setup, smokes.smokes, today=current.today, limit=policy.live.max_age_days, hosts=policy.live.hosts)
            for setup in policy.live.setups
        ]
        rules += [
            live_rule(policy.live, each, problems=smokes.problems, damage=damage, insist=current.insist_live)
            for each in stands
        ]
    rules += [
        recordings_rule(policy.recordings, started, evidence, current.today),
        sealed_rule(policy.sealed, started),
        flaky_rule(policy, tests, claim_tests(evidence)),
    ]
    if (waivers := waivers_rule(policy.waivers, tests, current.today)) is not None:
        rules.append(waivers)
    return Verdict(
        rules=tuple(_as_typed(rule, current.nox) for rule in rules),
        run_id=evidence.manifest.run_id,
        commit=current.commit,
        dirty=current.dirty,
        policy=current.policy,
        started=evidence.times.started,
        stopped=evidence.times.stopped,
        times=evidence.times,
        as_of=current.today.isoformat(),
        live=tuple(stands),
    )


# Each session of nox as rules name it, and the command that it runs. verify_release with words behind it comes first.
_COMMANDS = (
    ("integration", "nox -s integration --", "stackproof run"),
    ("verify_release", "nox -s verify_release --", "stackproof verify-release"),
    ("verify_release", "nox -s verify_release", "stackproof verify-release"),
    ("typecheck", "nox -s typecheck --", "stackproof typecheck"),
    ("benchmark", "nox -s benchmark", "stackproof benchmark"),
    ("live_smoke", "nox -s live_smoke --", "stackproof smoke"),
)


def _as_typed(rule: Rule, sessions: frozenset[str]) -> Rule:
    """The same rule, with our own commands for sessions that this project's noxfile.py lacks."""
    again = _command(rule.again or "", sessions) or None
    return replace(rule, again=again, more_again=tuple(_command(each, sessions) for each in rule.more_again))


def _command(again: str, sessions: frozenset[str]) -> str:
    for session, words, command in _COMMANDS:
        if session not in sessions:
            again = again.replace(words, command)
    return again


def _twin(name: str, cells: dict[str, CellFacts]) -> str | None:
    """The earlier cell that has a report which is byte for byte the same: a report proves one cell."""
    mine = _reports(cells.get(name))
    for earlier, cell in cells.items():
        if earlier == name:
            return None
        if not mine.isdisjoint(_reports(cell)):
            return earlier
    return None


def _reports(cell: CellFacts | None) -> frozenset[str]:
    """The digests of its reports."""
    if cell is None:
        return frozenset()
    if cell.shards is not None:
        return cell.shards.reports
    return frozenset() if cell.report_digest is None else frozenset({cell.report_digest})
