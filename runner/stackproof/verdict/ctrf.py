"""The tests of a run in the Common Test Report Format, version 1.0.0 (https://ctrf.io, schema/ctrf.schema.json)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from stackproof import __version__
from stackproof.evidence.outcomes import Outcome
from stackproof.plaintext import plain, shortened
from stackproof.verdict.records import Rule, State, Verdict
from stackproof.verdict.test_rows import TestRow

SPECIFICATION = "1.0.0"
NAME = "ctrf/report.json"
SUITE = "release verdict"
_LONGEST = 16_384
_STATUSES = ("passed", "failed", "skipped", "pending", "other")


def to_json(verdict: Verdict, rows: Iterable[TestRow]) -> dict[str, Any]:
    """What `ctrf/report.json` holds: every test of every cell, and every rule of the verdict as a test of its own.

    So a report whose tests all passed is not green where the verdict is not. Expected failures and unexpected passes
    are `other`, flaky tests are `passed` and `flaky`; `rawStatus` has our word. Durations are whole milliseconds, 0
    where nobody measured.
    """
    tests = [*(_test(row) for row in rows), *(_rule(rule) for rule in verdict.rules)]
    summary = {status: sum(test["status"] == status for test in tests) for status in _STATUSES}
    start, stop = _milliseconds(verdict.started), _milliseconds(verdict.stopped)
    report: dict[str, Any] = {
        "reportFormat": "CTRF",
        "specVersion": SPECIFICATION,
        "reportId": str(uuid5(NAMESPACE_URL, plain(f"stackproof:{verdict.run_id}:{verdict.commit}:{verdict.started}"))),
        "generatedBy": f"stackproof {__version__}",
        "results": {
            "tool": {"name": "stackproof", "version": __version__},
            "summary": {
                "tests": len(tests),
                **summary,
                "flaky": sum(test.get("flaky", False) for test in tests),
                "suites": len({test["suite"][0] for test in tests}),
                "start": start,
                "stop": max(start, stop),
            },
            "tests": tests,
            "environment": _environment(verdict),
            "extra": {"verdict": verdict.state.value, "exit_code": int(verdict.exit_code)},
        },
    }
    if verdict.run_id:
        report["runId"] = verdict.run_id
    if verdict.stopped and stop:
        report["timestamp"] = verdict.stopped
    return report


def _environment(verdict: Verdict) -> dict[str, Any]:
    known = {"commit": verdict.commit, "healthy": verdict.state is State.PASS}
    return {name: value for name, value in known.items() if value is not None}


def _test(row: TestRow) -> dict[str, Any]:
    said = {
        "message": shortened(row.said, _LONGEST) if row.outcome is not Outcome.PASSED else "",
        # The end of a failure says what went wrong.
        "trace": row.text[-_LONGEST:] if row.outcome.bad else "",
        "filePath": row.file or "",
    }
    test: dict[str, Any] = {
        "name": row.name or "without a name",
        "status": _status(row.outcome),
        "duration": round((row.seconds or 0) * 1000),
        "rawStatus": row.outcome.value,
        "suite": [row.cell, *([row.file] if row.file else [])],
        **{name: text for name, text in said.items() if text},
    }
    if row.line is not None:
        test["line"] = row.line
    if row.attempts > 1:
        test |= {"retries": row.attempts - 1, "flaky": row.outcome is Outcome.FLAKY}
    if row.borne:
        test["tags"] = ["waived"]
    return test


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "name": rule.title,
        "status": "failed"
        if rule.counted is not State.PASS
        else "skipped"
        if rule.state is not State.PASS
        else "passed",
        "duration": 0,
        "rawStatus": rule.state.value,
        "suite": [SUITE],
        "message": shortened(rule.summary, _LONGEST),
        "extra": {"id": rule.id, "proves": rule.proves, "excludes": rule.excludes},
    }


def _status(outcome: Outcome) -> str:
    match outcome:
        case Outcome.PASSED | Outcome.FLAKY:
            return "passed"
        case Outcome.FAILED | Outcome.ERROR:
            return "failed"
        case Outcome.SKIPPED:
            return "skipped"
        case Outcome.XFAILED | Outcome.XPASSED:
            return "other"


def _milliseconds(moment: str | None) -> int:
    """Since 1970; 0 where nobody said when."""
    try:
        return round(datetime.fromisoformat(moment or "").timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        return 0
