"""The verdict as JSON for machines and Markdown for pages: the same facts in the same order, and no clock."""

from __future__ import annotations

from typing import Any

from stackproof.verdict.current import short
from stackproof.verdict.records import Rule, State, Verdict
from stackproof.verdict.terminal import mark, tally

SCHEMA = 1


def to_json(verdict: Verdict) -> dict[str, Any]:
    """What `verdict.json` holds."""
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


def to_markdown(verdict: Verdict) -> str:
    """What `verdict.md` holds, and what goes to the CI summary."""
    dirty = " with changes that are not committed" if verdict.dirty else ""
    about = f"Commit {short(verdict.commit)}{dirty}, run {verdict.run_id or 'unknown'}, as of {verdict.as_of}."
    rows = [
        f"# Release verdict: {verdict.state.value}",
        "",
        f"{about} {tally(verdict)}",
        "",
        "| | rule | found |",
        "|---|---|---|",
        *(f"| {mark(rule)} | {_cell(rule.title)} | {_cell(rule.summary)} |" for rule in verdict.rules),
        "",
    ]
    if verdict.again:
        rows += ["Again:", "", "```", *verdict.again, "```", ""]
    rows += ["## Rule by rule", ""]
    for rule in verdict.rules:
        rows += [f"### {_inline(rule.title)}: {rule.state.value}", ""]
        rows += [f"- {_remark(finding.state).lower()}: {_inline(finding.text)}" for finding in rule.findings]
        rows += [
            f"- proves: {_inline(rule.proves)}",
            f"- excludes: {_inline(rule.excludes)}",
            *([f"- evidence: {', '.join(f'`{name}`' for name in rule.evidence)}"] if rule.evidence else []),
            "",
        ]
    return "\n".join(rows)


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


def _inline(text: str) -> str:
    """Text from tests and files as one line that Markdown and HTML leave alone."""
    escaped = " ".join(text.split()).replace("\\", "\\\\")
    for character in "`*_[]<>#":
        escaped = escaped.replace(
            character, f"\\{character}" if character not in "<>" else f"&{'lg'[character == '>']}t;"
        )
    return escaped


def _cell(text: str) -> str:
    return _inline(text).replace("|", "\\|")
