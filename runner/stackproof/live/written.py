"""What a smoke leaves: `checks/live.json`, a copy for each setup, one JUnit report over its cells, and the manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from stackproof.evidence import git, jsonfile, junit, live, manifest, merge, rescued, testlog
from stackproof.evidence.junit_case import Case
from stackproof.evidence.live import FOLDER, RESULT, SCHEMA, LiveOutcome
from stackproof.evidence.outcomes import Outcome
from stackproof.live.budgets import Spent
from stackproof.live.results import ModelResult
from stackproof.run.cell_run import CellOutcome

SUITE = "live smoke"


@dataclass(frozen=True, kw_only=True, slots=True)
class Smoke:
    """A smoke that has ended. started, stopped: in UTC, ISO 8601. asked: what was asked before its tests, counted.

    arguments: for pytest; with them it may have been a part of the suite's tests.
    """

    run_id: str
    run_dir: Path
    project: Path
    started: str
    stopped: str
    outcome: LiveOutcome
    results: tuple[ModelResult, ...]
    spent: Spent
    asked: int = 0
    suite: str = live.SUITE
    arguments: tuple[str, ...] = ()


def write(smoke: Smoke, cells: Sequence[CellOutcome]) -> None:
    """Write all of it, to be called last. cells: those that ran.

    A copy goes to `.stackproof/live/<setup>.json` for every setup of which something was called or at least tried, so
    that a smoke without secrets does not hide the last one that had some.
    """
    source = git.state(smoke.project)
    content = facts(smoke, source)
    jsonfile.write(smoke.run_dir / RESULT, content)
    for setup in dict.fromkeys(result.setup for result in smoke.results):
        own = {result.outcome for result in smoke.results if result.setup == setup}
        if own != {LiveOutcome.SKIPPED}:
            jsonfile.write(smoke.project / FOLDER / f"{setup}.json", content)
    rows = [{"id": cell.cell.id, "title": cell.cell.title, "command": cell.again} for cell in cells]
    plan = {"schema": 1, "kind": "smoke", "run_id": smoke.run_id, "cells": rows}
    jsonfile.write(smoke.run_dir / "plan.json", plan)
    _junit(smoke, [cell.cell.id for cell in cells])
    manifest.write(smoke.run_dir, run_id=smoke.run_id, project=smoke.project, source=source)


def facts(smoke: Smoke, source: git.SourceState) -> dict[str, Any]:
    """What `checks/live.json` holds."""
    return {
        "schema": SCHEMA,
        "kind": "live",
        "run_id": smoke.run_id,
        "commit": source.commit,
        "dirty": source.dirty,
        "started": smoke.started,
        "stopped": smoke.stopped,
        "outcome": smoke.outcome.value,
        "models": [_model(result) for result in smoke.results],
        "asked_beforehand": smoke.asked,
        "suite": smoke.suite,
        "arguments": list(smoke.arguments),
        "budget": smoke.spent.to_json(),
    }


def _model(result: ModelResult) -> dict[str, Any]:
    tests = {name: number for name, number in asdict(result.tests).items() if number and name != "collected"}
    return {
        "model": result.title,
        "setup": result.setup,
        "outcome": result.outcome.value,
        "reason": result.reason,
        "tests": tests,
        "requests": result.requests,
        "refused": result.refused,
        "retries": result.retries,
        "tokens": {"input": result.tokens[0], "output": result.tokens[1]},
        "called": list(result.called),
        "own_address": result.own_address,
        "drift": None if result.drift is None else asdict(result.drift),
    }


_CASES: Mapping[LiveOutcome, Outcome] = {
    LiveOutcome.PASSED: Outcome.PASSED,
    LiveOutcome.SKIPPED: Outcome.SKIPPED,
    LiveOutcome.STOPPED: Outcome.ERROR,
    LiveOutcome.BLOCKED: Outcome.ERROR,
    LiveOutcome.FAILED: Outcome.FAILED,
}


def _junit(smoke: Smoke, cells: Sequence[str]) -> None:
    """The tests of every cell, and each model as a case: one that was never called would be in no report otherwise."""
    folders = {name: smoke.run_dir / "cells" / name for name in cells}
    reports = {
        name: rescued.report_of(junit.read(folder / "junit.xml"), testlog.read(folder / "tests.jsonl"))
        for name, folder in folders.items()
    }
    own = [
        Case(
            suite=SUITE,
            classname=result.setup,
            name=result.title,
            outcome=_CASES[result.outcome],
            message=result.reason or "",
        )
        for result in smoke.results
    ]
    merge.write(
        smoke.run_dir / "junit.xml", {name: report for name, report in reports.items() if report.cases}, {SUITE: own}
    )
