"""The verdict as JSON for machines: docs/schemas/verdict.json says what is in it. No clock: same facts, same bytes."""

from __future__ import annotations

from typing import Any

from stackproof.verdict.markdown import to_markdown
from stackproof.verdict.records import Rule, State, Verdict

__all__ = ["SCHEMA", "to_json", "to_markdown"]

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
