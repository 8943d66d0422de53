"""The verdict as JSON for machines: docs/schemas/verdict.json says what is in it. No clock: same facts, same bytes."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from stackproof.evidence.times import Times
from stackproof.verdict.markdown import to_markdown
from stackproof.verdict.records import Rule, State, Verdict
from stackproof.verdict.standing import Standing

__all__ = ["SCHEMA", "live", "to_json", "to_markdown"]

SCHEMA = 1


def to_json(verdict: Verdict) -> dict[str, Any]:
    """What `verdict.json` holds. A key may be added under the same schema number; none is taken away or changed."""
    return {
        "schema": SCHEMA,
        "kind": "verdict",
        "verdict": verdict.state.value,
        "exit_code": int(verdict.exit_code),
        "run_id": verdict.run_id,
        "commit": verdict.commit,
        "dirty": verdict.dirty,
        "policy": verdict.policy,
        "started": verdict.started,
        "stopped": verdict.stopped,
        "as_of": verdict.as_of,
        "rules": [_rule(rule) for rule in verdict.rules],
        "again": list(verdict.again),
        "live": [live(each) for each in verdict.live],
        "times": times(verdict.times),
    }


def times(found: Times) -> dict[str, Any]:
    """What the evidence took, in seconds."""
    return {
        "wall_seconds": found.wall,
        "at_least_seconds": found.longest,
        "span_seconds": found.span,
        "summed_seconds": found.summed,
        "clocks": found.clocks,
        "wrong_clocks": list(found.wrong),
    }


def live(standing: Standing) -> dict[str, Any]:
    """How a setup stands with its live smoke; `stackproof freshness --json` has it, too."""
    smoke, drift = standing.smoke, standing.drift
    return {
        "setup": standing.setup,
        "state": standing.state.value,
        "outcome": None if standing.outcome is None else standing.outcome.value,
        "stopped": None if smoke is None else smoke.stopped.isoformat(timespec="seconds"),
        "age_days": standing.age,
        "max_age_days": standing.limit,
        "run_id": None if smoke is None else smoke.run_id,
        "commit": None if smoke is None else smoke.commit,
        "models": [model.model for model in standing.models],
        "drift": None if drift is None else asdict(drift),
        "file": None if smoke is None else smoke.origin,
    }


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "title": rule.title,
        "state": rule.state.value,
        "blocking": rule.blocking,
        "summary": rule.summary,
        "findings": [{"state": _remark(finding.state), "text": finding.text} for finding in rule.findings],
        "proves": rule.proves,
        "excludes": rule.excludes,
        "evidence": list(rule.evidence),
        "again": rule.again,
    }


def _remark(state: State) -> str:
    return "REMARK" if state is State.PASS else state.value
