"""Suites against stacks, and the logs of the cells that went wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stackproof.evidence.read import CellFacts, Evidence
from stackproof.plaintext import counted, duration
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


def logs(verdict: Verdict, evidence: Evidence, run_dir: Path) -> list[dict[str, Any]]:
    """The last lines of what the cells wrote that are not green; of the first dozen folders of them."""
    wrong = [rule for rule in _of_cells(verdict) if rule.counted is State.FAIL or _not_started(rule)]
    places = [(rule, place) for rule in wrong for place in _places(rule, evidence)]
    return [log for rule, place in places[:_LOGGED_CELLS] for log in _tails(rule, run_dir / "cells" / place)]


def _places(rule: Rule, evidence: Evidence) -> list[str]:
    """The folders of a cell that may tell something: of shards, those that are not good."""
    name = rule.id.removeprefix(_PREFIX)
    cell = evidence.cells.get(name)
    if cell is None or cell.shards is None:
        return [name]
    return sorted(cell.shards.bad) or list(cell.places)


def _of_cells(verdict: Verdict) -> list[Rule]:
    return [rule for rule in verdict.rules if rule.id.startswith(_PREFIX)]


def _not_started(rule: Rule) -> bool:
    """Not proven for a reason that a log may tell, not for one that only the policy knows."""
    return rule.counted is State.NOT_PROVEN and any("did not end" in finding.text for finding in rule.findings)


def _tails(rule: Rule, folder: Path) -> Iterator[dict[str, Any]]:
    for name in _LOGS:
        if lines := tail(folder / name, _LINES):
            yield {"cell": rule.title, "file": f"cells/{folder.name}/{name}", "text": "\n".join(lines)}


def _cell(rule: Rule | None, evidence: Evidence) -> dict[str, Any] | None:
    if rule is None:
        return None
    cell = evidence.cells.get(rule.id.removeprefix(_PREFIX))
    return {
        "kind": kind(rule.state),
        "state": rule.state.value,
        "counts": rule.counted is rule.state,
        "words": _words(cell),
        "took": "" if cell is None else _took(cell),
        "anchor": anchor(rule.id),
    }


def _took(cell: CellFacts) -> str:
    """Of shards, the longest and all of them; nothing where nobody said."""
    if cell.shards is None:
        took = seconds_between(cell.started, cell.stopped)
        return "" if took is None else duration(took)
    times = cell.shards.times
    if times.longest is None or times.summed is None:
        return ""
    of = counted(cell.shards.delivered, "shard")
    return f"{duration(times.longest)} the longest of {of}, {duration(times.summed)} in all"


def _words(cell: CellFacts | None) -> str:
    if cell is None:
        return "did not run"
    facts = tests_of(cell).facts
    return facts.counts.words() if facts else "nothing ran"
