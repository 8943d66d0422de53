"""The top of the page: what the verdict is, and why, so that the rest can wait."""

from __future__ import annotations

from typing import Any

from stackproof.plaintext import counted
from stackproof.verdict.current import short
from stackproof.verdict.page.words import anchor, kind, lasting, moment
from stackproof.verdict.records import Rule, State, Verdict

_REASONS = 6


def of(verdict: Verdict) -> dict[str, Any]:
    """State, one sentence, the reasons with links to their rules, and what was weighed."""
    reasons = _reasons(verdict)
    # What need not run here need not be run again either.
    again = list(verdict.again) if reasons else []
    return {
        "state": verdict.state.value,
        "kind": kind(verdict.state),
        "sentence": _sentence(verdict),
        "reasons": reasons[:_REASONS],
        "more_reasons": max(0, len(reasons) - _REASONS),
        "again": again[:_REASONS],
        "more_again": max(0, len(again) - _REASONS),
        "commit": verdict.commit or "",
        "short": short(verdict.commit),
        "dirty": verdict.dirty,
        "run": verdict.run_id or "unknown",
        "policy": (verdict.policy or "")[:12],
        "as_of": verdict.as_of,
        "when": moment(verdict.started),
        "took": ("at least " if verdict.times.clocks > 1 else "") + lasting(verdict.started, verdict.stopped),
        "times": verdict.times.words() if verdict.times.clocks > 1 else "",
        "exit_code": int(verdict.exit_code),
    }


def _sentence(verdict: Verdict) -> str:
    counts = {state: sum(rule.counted is state for rule in verdict.shown) for state in State}
    absent = sum(rule.counted is not rule.state for rule in verdict.shown)
    total = len(verdict.shown)
    beside = f" {counted(absent, 'rule')} could not be tried here and need not be." if absent else ""
    if not verdict.rules:
        return "There is no rule, and so nothing is proven."
    match verdict.state:
        case State.PASS:
            green = counted(total - absent, "rule")
            return f"{green} asked, and all are green: this commit may be released.{beside}"
        case State.NOT_PROVEN:
            some = counted(counts[State.NOT_PROVEN], "rule")
            return f"Nothing failed, but {some} of {total} could not be proven.{beside}"
        case State.FAIL:
            also = f", {counts[State.NOT_PROVEN]} more could not be proven" if counts[State.NOT_PROVEN] else ""
            return f"{counted(counts[State.FAIL], 'rule')} of {total} failed{also}.{beside}"


def _reasons(verdict: Verdict) -> list[dict[str, Any]]:
    """What keeps the verdict from green, the worst first; rules that say the same are one reason."""
    alike: dict[tuple[int, str], list[Rule]] = {}
    for rule in verdict.rules:
        if rule.counted is not State.PASS:
            alike.setdefault((-rule.counted.severity, rule.summary), []).append(rule)
    return [
        {
            "kind": kind(same[0].counted),
            "title": same[0].title if len(same) == 1 else counted(len(same), "rule"),
            "text": summary.removeprefix("not proven: "),
            "anchor": anchor(same[0].id),
        }
        for (_, summary), same in sorted(alike.items(), key=lambda item: item[0][0])
    ]
