"""The benchmarks: numbers, a plot, and what they say about the gate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stackproof.evidence.benchmark import BenchmarkFacts, BenchmarkLine
from stackproof.evidence.statistics import median, nearest_rank
from stackproof.plaintext import duration
from stackproof.verdict.page import plot
from stackproof.verdict.page.words import anchor, kind, moment
from stackproof.verdict.records import Rule, Verdict

_LINES = 12


def of(facts: BenchmarkFacts | None, verdict: Verdict, gates: Mapping[str, float]) -> dict[str, Any]:
    """Every line that was measured, those with a gate first."""
    if facts is None:
        return {"lines": [], "machine": "", "date": "", "problem": ""}
    rules = {rule.id.removeprefix("benchmark:"): rule for rule in verdict.rules if rule.id.startswith("benchmark:")}
    lines = sorted(facts.lines.values(), key=lambda line: line.name not in rules)[:_LINES]
    return {
        "lines": [_line(line, rules.get(line.name), gates.get(line.name)) for line in lines],
        "machine": facts.machine.words(),
        "date": moment(facts.date) or facts.date,
        "problem": facts.problem or "",
    }


def _line(line: BenchmarkLine, rule: Rule | None, gate: float | None) -> dict[str, Any]:
    return {
        "name": line.name,
        "kind": kind(rule.state) if rule is not None else "none",
        "anchor": anchor(rule.id) if rule is not None else "",
        "pairs": line.samples,
        "numbers": _numbers(line),
        "words": _ratio(line) or line.words(),
        "gate": "" if gate is None else f"{gate:.2f}",
        "times": plot.times(line),
        "ratios": plot.ratios(line, gate),
    }


def _numbers(line: BenchmarkLine) -> list[dict[str, str]]:
    return [
        {
            "what": what,
            "median": duration(median(values)),
            "p95": duration(nearest_rank(values, 95)),
            "most": duration(max(values)),
        }
        for what, values in (("turn", line.turns), ("floor", line.floor))
        if values
    ]


def _ratio(line: BenchmarkLine) -> str:
    ratio = line.ratio
    if ratio is None:
        return ""
    if ratio.low is None or ratio.high is None:
        return f"{ratio.estimate:.2f} × floor, too few samples for an interval"
    return f"{ratio.estimate:.2f} × floor, 95 % interval {ratio.low:.2f} to {ratio.high:.2f}"
