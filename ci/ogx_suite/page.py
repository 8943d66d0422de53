"""The table of the suites, as Markdown and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ci.ogx_suite.measured import Measured
from ci.ogx_suite.what import Suite

_HEAD = (
    "| suite | to pass | side | passed | failed | error | skipped | wall, s | first test, s | s a test | leaving |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|"
)


def text(suites: Sequence[Suite], runs: Sequence[Measured]) -> str:
    """Markdown: a line for each suite and side, then what passed on one side only and what passed on none."""
    lines = [_HEAD]
    for suite in suites:
        lines += [_line(suite, run) for run in runs if run.suite == suite.name]
    for side in ("theirs", "ours"):
        mine = [run for run in runs if run.side == side]
        if mine:
            wall = sum(run.seconds for run in mine)
            passed = sum(run.count("passed") for run in mine)
            lines.append(
                f"| all | {sum(suite.expected for suite in suites)} | {side} | {passed} | | | | {wall:.0f} | | | |"
            )
    return "\n".join([*lines, "", *_differences(suites, runs)]) + "\n"


def _line(suite: Suite, run: Measured) -> str:
    first = "–" if run.first_test is None else f"{run.first_test:.1f}"
    counts = " | ".join(str(run.count(end)) for end in ("passed", "failure", "error", "skipped"))
    left = sum(run.sockets.values())
    each = "–" if run.per_test is None else f"{run.per_test:.2f}"
    return (
        f"| {suite.name} | {suite.expected} | {run.side} | {counts} | {run.seconds:.1f} | {first} | {each} | {left} |"
    )


def _differences(suites: Sequence[Suite], runs: Sequence[Measured]) -> list[str]:
    lines: list[str] = []
    for suite in suites:
        by_side = {run.side: run.tests for run in runs if run.suite == suite.name}
        if len(by_side) == 2:
            for name in sorted({*by_side["theirs"], *by_side["ours"]}):
                ends = {side: tests.get(name, "not there") for side, tests in by_side.items()}
                if len(set(ends.values())) > 1:
                    lines.append(f"- {suite.name}: `{name}`: theirs {ends['theirs']}, ours {ends['ours']}")
    return ["Tests that end differently:", "", *lines] if lines else ["No test ends differently on the two sides."]


def write(folder: Path, suites: Sequence[Suite], runs: Sequence[Measured], more: Mapping[str, Any]) -> None:
    """table.md and table.json in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "table.md").write_text(text(suites, runs), encoding="utf-8")
    facts = {"schema": 1, **more, "runs": [run.facts() for run in runs]}
    (folder / "table.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
