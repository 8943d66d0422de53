"""Suites against stacks, and the logs of the cells that went wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stackproof.evidence.outcomes import count
from stackproof.evidence.read import CellFacts, Evidence
from stackproof.plaintext import duration
from stackproof.stack.process import tail
from stackproof.verdict.page.words import anchor, kind, seconds_between
from stackproof.verdict.records import Rule, State, Verdict
from stackproof.verdict.tests_of import tests_of

_PREFIX = "cell:"
_LOGS = ("stack.log", "service.log", "pytest.log", "tests.log", "cell.log")
_LOGGED_CELLS = 12
_LINES = 25


def grid(verdict: Verdict, evidence: Evidence) -> dict[str, Any]:
    """Rows of suite and setup, columns of stacks; a combination that the policy does not ask for is None."""
    found = {tuple(rule.title.split(" × ")): rule for rule in _of_cells(verdict) if rule.title.count(" × ") == 2}
    stacks = list(dict.fromkeys(name[2] for name in found))
    return {
        "stacks": stacks,
        "rows": [
            {
                "suite": suite,
                "setup": setup,
                "cells": [_cell(found.get((suite, setup, stack)), evidence) for stack in stacks],
            }
            for suite, setup in dict.fromkeys(name[:2] for name in found)
        ],
    }


def logs(verdict: Verdict, run_dir: Path) -> list[dict[str, Any]]:
    """The last lines of what the cells wrote that are not green; of the first dozen of them."""
    wrong = [rule for rule in _of_cells(verdict) if rule.counted is State.FAIL or _not_started(rule)]
    return [log for rule in wrong[:_LOGGED_CELLS] for log in _tails(rule, run_dir)]


def _of_cells(verdict: Verdict) -> list[Rule]:
    return [rule for rule in verdict.rules if rule.id.startswith(_PREFIX)]


def _not_started(rule: Rule) -> bool:
    """Not proven for a reason that a log may tell, not for one that only the policy knows."""
    return rule.counted is State.NOT_PROVEN and any("did not end" in finding.text for finding in rule.findings)


def _tails(rule: Rule, run_dir: Path) -> Iterator[dict[str, Any]]:
    folder = run_dir / "cells" / rule.id.removeprefix(_PREFIX)
    for name in _LOGS:
        if lines := tail(folder / name, _LINES):
            yield {"cell": rule.title, "file": f"cells/{folder.name}/{name}", "text": "\n".join(lines)}


def _cell(rule: Rule | None, evidence: Evidence) -> dict[str, Any] | None:
    if rule is None:
        return None
    cell = evidence.cells.get(rule.id.removeprefix(_PREFIX))
    took = None if cell is None else seconds_between(cell.started, cell.stopped)
    return {
        "kind": kind(rule.state),
        "state": rule.state.value,
        "counts": rule.counted is rule.state,
        "words": _words(cell),
        "took": "" if took is None else duration(took),
        "anchor": anchor(rule.id),
    }


def _words(cell: CellFacts | None) -> str:
    if cell is None:
        return "did not run"
    facts = tests_of(cell).facts
    return count(fact.outcome for fact in facts).words() if facts else "nothing ran"
