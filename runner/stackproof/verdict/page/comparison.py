"""What is different from the verdict of the run before: rules, findings, tests, cells, benchmarks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stackproof.evidence import jsonfile
from stackproof.plaintext import counted
from stackproof.verdict import compared
from stackproof.verdict.compared import Compared
from stackproof.verdict.current import short
from stackproof.verdict.page.words import anchor, kind, lasting
from stackproof.verdict.records import State

if TYPE_CHECKING:
    from stackproof.verdict.publish import Publication

_MOST = 40
_WORDS = {state.value: kind(state) for state in State}


def of(published: Publication) -> dict[str, Any] | None:
    """Rules whose state changed, appeared or went, and findings of failed rules that are new; None without a verdict
    before this one.
    """
    before, found = _before(published.run_dir), published.compared
    if before is None:
        return None
    old = {str(rule.get("id")): rule for rule in before["rules"] if isinstance(rule, dict)}
    new = {rule.id: rule for rule in published.verdict.rules}
    changes = [
        {
            "title": rule.title,
            "anchor": anchor(name),
            "was": _state(old.get(name)),
            "was_kind": _WORDS.get(_state(old.get(name)), "none"),
            "now": rule.state.value,
            "now_kind": kind(rule.state),
        }
        for name, rule in new.items()
        if _state(old.get(name)) != rule.state.value
    ]
    gone = [str(rule.get("title", name)) for name, rule in old.items() if name not in new]
    known = {text for rule in old.values() for text in _failed(rule)}
    fresh = [
        finding.text
        for rule in published.verdict.rules
        for finding in rule.findings
        if finding.state is State.FAIL and finding.text not in known
    ]
    return {
        "run": str(before.get("run_id")),
        "state": str(before.get("verdict")),
        "kind": _WORDS.get(str(before.get("verdict")), "none"),
        "commit": short(jsonfile.text(before, "commit")),
        "took": lasting(jsonfile.text(before, "started"), jsonfile.text(before, "stopped")),
        "changes": changes[:_MOST],
        "more": max(0, len(changes) - _MOST),
        "gone": gone[:_MOST],
        "fresh": fresh[:_MOST],
        "more_fresh": max(0, len(fresh) - _MOST),
        "tests": _tests(found),
        "cells": list(found.cells[:_MOST]) if found is not None else [],
        "drift": list(found.drift[:_MOST]) if found is not None else [],
        "benchmarks": _benchmarks(found),
        "fresh_words": counted(len(fresh), "finding"),
    }


def _tests(found: Compared | None) -> list[dict[str, Any]]:
    """Tests that went another way, what has to be looked at first."""
    if found is None:
        return []
    parts = {
        "newly failing": found.newly_failing,
        "newly skipped": found.newly_skipped,
        "removed": found.removed,
        "fixed": found.fixed,
        "added": found.added,
    }
    return [
        {"what": what, "number": len(names), "names": list(names[:_MOST]), "more": max(0, len(names) - _MOST)}
        for what, names in parts.items()
        if names
    ]


def _benchmarks(found: Compared | None) -> list[str]:
    measured = found.benchmarks if found is not None else None
    if measured is None:
        return []
    if measured.not_comparable:
        return [measured.not_comparable]
    return [change.words() for change in measured.changes[:_MOST]]


def _before(run_dir: Path) -> dict[str, Any] | None:
    """The verdict of the run before, the one that the tests are compared with."""
    path = compared.newest_before(run_dir)
    data = jsonfile.read(path) if path is not None else None
    return data if data is not None and isinstance(data.get("rules"), list) else None


def _state(rule: dict[str, Any] | None) -> str:
    return "not there" if rule is None else str(rule.get("state"))


def _failed(rule: dict[str, Any]) -> Iterator[str]:
    findings = rule.get("findings")
    for finding in findings if isinstance(findings, list) else ():
        if isinstance(finding, dict) and finding.get("state") == State.FAIL.value:
            yield str(finding.get("text"))
