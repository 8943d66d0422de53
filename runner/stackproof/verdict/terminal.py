"""The verdict as a person sees it in a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from stackproof.verdict.current import short
from stackproof.verdict.records import Rule, State, Verdict

_SHOWN = 5  # findings below a line; verdict.json and verdict.md have them all


def lines(verdict: Verdict, run_dir: str, page: str | None = None) -> list[str]:
    """All lines; `run_dir` is named as the place of the evidence, and `page` as that of everything on one page."""
    width = _widest(verdict)
    dirty = " with changes" if verdict.dirty else ""
    commit = f"commit {short(verdict.commit)}" if verdict.commit else "no commit"
    head = [f"RELEASE VERDICT  {verdict.state.value}", f"{commit}{dirty}{_when(verdict)}"]
    result = ["     ".join(head)]
    for rule in verdict.shown:
        result.append(f"  {mark(rule)} {rule.title.ljust(width)}  {rule.summary}".rstrip())
        result += [f"      {text}" for text in _below(rule)]
    result.append(f"{tally(verdict)}  Evidence {run_dir}")
    if page is not None:
        result.append(f"page:  {run_dir}/{page}")
    for index, command in enumerate(verdict.again):
        result.append(f"{'again: ' if index == 0 else '       '}{command}")
    return result


def hanging(verdict: Verdict, line: str) -> int:
    """At which column a line of `lines` goes on where a terminal is too narrow; 0 for one that has to stay whole."""
    indent = len(line) - len(line.lstrip())
    match indent:
        case 2:
            return _widest(verdict) + 6
        case 6:
            return 6
        case _:
            return 0


def _widest(verdict: Verdict) -> int:
    return max((len(rule.title) for rule in verdict.shown), default=0)


def mark(rule: Rule) -> str:
    """One character for the state of a rule."""
    match rule.state:
        case State.PASS:
            told = rule.id in ("flaky", "waivers", "sealed", "source") or rule.id.startswith("live:")
            return "~" if rule.noted and told else "✓"
        case State.NOT_PROVEN:
            return "?"
        case State.FAIL:
            return "✗"


def tally(verdict: Verdict) -> str:
    """`1 failed, 1 not proven.`"""
    states = [rule.state for rule in verdict.shown]
    words = {State.FAIL: "failed", State.NOT_PROVEN: "not proven", State.PASS: "green"}
    named = [f"{states.count(state)} {word}" for state, word in words.items() if states.count(state)]
    return f"{', '.join(named) or 'no rule'}."


def _below(rule: Rule) -> Iterator[str]:
    """Findings that the line itself does not tell."""
    if rule.state is State.PASS:
        wanted = [finding.text for finding in rule.findings] if mark(rule) == "~" else []
    else:
        bad = [finding for finding in rule.findings if finding.state is not State.PASS]
        led = rule.state is State.FAIL and rule.lead is not None
        told = None if led else next(finding for finding in bad if finding.state is rule.state)
        wanted = [finding.text for finding in bad if finding is not told]
    yield from wanted[:_SHOWN]
    if len(wanted) > _SHOWN:
        yield f"… and {len(wanted) - _SHOWN} more in verdict.md"
    if rule.state is State.NOT_PROVEN and not rule.blocking:
        why = "wanted where available" if rule.part_of is None else "not required here"
        yield f"{why}: said, and not counted"


def _when(verdict: Verdict) -> str:
    if verdict.started is None or verdict.stopped is None:
        return ""
    try:
        first, last = datetime.fromisoformat(verdict.started), datetime.fromisoformat(verdict.stopped)
        seconds = max(0, round((last - first).total_seconds()))
    except (ValueError, TypeError):
        return ""
    minutes = f"{seconds // 60} min " if seconds >= 60 else ""
    if verdict.times.clocks > 1:  # of which nobody knows whether they agree
        minutes = f"at least {minutes}"
    return f", {last:%Y-%m-%d %H:%M}, {minutes}{seconds % 60} s"
