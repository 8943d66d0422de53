"""What is different from the verdict before, as far as its `verdict.json` lies beside this run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stackproof.evidence import benchmark, benchmark_changes, jsonfile
from stackproof.plaintext import counted
from stackproof.verdict.current import short
from stackproof.verdict.page.words import anchor, kind, lasting
from stackproof.verdict.records import State, Verdict

if TYPE_CHECKING:
    from stackproof.verdict.publish import Publication

_MOST = 40
_WORDS = {state.value: kind(state) for state in State}


def of(published: Publication) -> dict[str, Any] | None:
    """Rules whose state changed, appeared or went, and findings of failed rules that are new; None without a verdict
    before this one.
    """
    found = _before(published.run_dir, published.verdict)
    if found is None:
        return None
    folder, before = found
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
        "benchmarks": _benchmarks(published, folder),
        "fresh_words": counted(len(fresh), "finding"),
    }


def _benchmarks(published: Publication, folder: Path) -> list[str]:
    now, then = published.evidence.benchmark, benchmark.read(folder / "checks/benchmark.json")
    if now is None or then is None:
        return []
    found = benchmark_changes.compare(now, then)
    return [found.not_comparable] if found.not_comparable else [change.words() for change in found.changes][:_MOST]


def _before(run_dir: Path, verdict: Verdict) -> tuple[Path, dict[str, Any]] | None:
    """The newest verdict of another run that ended before this one began, with its folder."""
    found = list(_others(run_dir, verdict.started or ""))
    return max(found, key=lambda other: str(other[1]["stopped"]), default=None)


def _others(run_dir: Path, began: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    for path in sorted(run_dir.parent.glob("*/verdict.json")):
        data = jsonfile.read(path) if path.parent.name != run_dir.name else None
        if data is None or data.get("kind") != "verdict" or not isinstance(data.get("rules"), list):
            continue
        if (stopped := jsonfile.text(data, "stopped")) and stopped <= began:
            yield path.parent, data


def _state(rule: dict[str, Any] | None) -> str:
    return "not there" if rule is None else str(rule.get("state"))


def _failed(rule: dict[str, Any]) -> Iterator[str]:
    findings = rule.get("findings")
    for finding in findings if isinstance(findings, list) else ():
        if isinstance(finding, dict) and finding.get("state") == State.FAIL.value:
            yield str(finding.get("text"))
