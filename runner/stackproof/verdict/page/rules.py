"""The rules and the claims among them."""

from __future__ import annotations

from typing import Any

from stackproof.verdict.page.words import anchor, kind
from stackproof.verdict.records import Rule, State, Verdict
from stackproof.verdict.terminal import mark

_FINDINGS = 100  # of one rule; verdict.json has them all
_CLAIM = "claim:"
_OPEN = 6  # of the rules that could not be proven; failed ones are always open


def of(verdict: Verdict) -> list[dict[str, Any]]:
    """Every rule that has a line of its own, those that need attention first, and open unless they are many."""
    few = sum(rule.counted is State.NOT_PROVEN for rule in verdict.rules) <= _OPEN
    return [
        {**_rule(rule), "open": rule.counted is State.FAIL or (few and rule.counted is State.NOT_PROVEN)}
        for rule in sorted(verdict.shown, key=lambda rule: (-rule.counted.severity, -rule.state.severity))
    ]


def claims(verdict: Verdict) -> list[dict[str, Any]]:
    """The rules that weigh a claim each, in the policy's order; `linked` where the rules have it, too."""
    shown = {rule.id for rule in verdict.shown}
    return [{**_rule(rule), "linked": rule.id in shown} for rule in verdict.rules if rule.id.startswith(_CLAIM)]


def _rule(rule: Rule) -> dict[str, Any]:
    bad = [finding for finding in rule.findings if finding.state is not State.PASS]
    remarks = [finding for finding in rule.findings if finding.state is State.PASS]
    ordered = sorted(bad, key=lambda finding: -finding.state.severity) + remarks
    return {
        "id": rule.id,
        "anchor": anchor(rule.id),
        "title": rule.title,
        "state": rule.state.value,
        "kind": kind(rule.state),
        "counts": rule.counted is rule.state,
        "noted": mark(rule) == "~",
        "summary": rule.summary.removeprefix("not proven: "),
        "findings": [
            {"kind": "remark" if finding.state is State.PASS else kind(finding.state), "text": finding.text}
            for finding in ordered[:_FINDINGS]
        ],
        "more": max(0, len(ordered) - _FINDINGS),
        "proves": rule.proves,
        "excludes": rule.excludes,
        "evidence": list(rule.evidence)[:12],
        "more_evidence": max(0, len(rule.evidence) - 12),
        "again": rule.again or "",
    }
