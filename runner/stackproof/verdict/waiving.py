"""Which failures are borne, by whom and until when."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date

from stackproof.verdict.policy import Waiver
from stackproof.verdict.records import Finding, Rule, remark
from stackproof.verdict.tests_of import Tests


def waiver_for(test: str, cell: str, waivers: Iterable[Waiver], today: date) -> Waiver | None:
    """The waiver that holds today for this test in this cell."""
    for waiver in waivers:
        if waiver.test == test and waiver.cell in (None, cell) and today <= waiver.expires:
            return waiver
    return None


def words(waiver: Waiver) -> str:
    """Reason, owner and last day."""
    return f"{waiver.reason} ({waiver.owner}, until {waiver.expires.isoformat()})"


def waivers_rule(waivers: Iterable[Waiver], tests: Mapping[str, Tests], today: date) -> Rule | None:
    """What became of each waiver; None when the policy has none."""
    findings: list[Finding] = []
    given = list(waivers)
    for waiver in given:
        failing = {
            cell
            for cell, found in tests.items()
            for fact in found.facts.others
            if fact.name == waiver.test and fact.outcome.bad and waiver.cell in (None, cell)
        }
        if today > waiver.expires:
            findings.append(remark(f"expired on {waiver.expires.isoformat()} and void: {waiver.test} ({waiver.owner})"))
        elif not failing:
            findings.append(remark(f"matches no failing test, take it out: {waiver.test} ({waiver.owner})"))
        else:
            findings.append(remark(f"{waiver.test}: {words(waiver)}"))
    if not given:
        return None
    return Rule(
        id="waivers",
        title="waivers",
        good=f"{len(given)} in the policy",
        findings=tuple(findings),
        proves="which failures are borne, by whom and until when",
        excludes="that a waived test would pass; it does not count as executed",
        evidence=(),
    )
