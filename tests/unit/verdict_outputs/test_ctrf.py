"""The CTRF report, against the parts of its schema that this project can touch (ctrf-io/ctrf, schema version 1.0.0)."""

from __future__ import annotations

import json
from typing import Any

import jsonschema  # type: ignore[import-untyped, unused-ignore]
import pytest
from tests.unit.verdict_outputs.conftest import Made, Test, example

from stackproof.evidence import jsonfile, junit
from stackproof.evidence.outcomes import Outcome
from stackproof.verdict.records import not_proven

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
SCHEMA: dict[str, Any] = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "required": ["results", "reportFormat", "specVersion"],
    "additionalProperties": False,
    "properties": {
        "reportFormat": {"const": "CTRF"},
        "specVersion": {"type": "string", "pattern": r"^[0-9]+\.[0-9]+\.[0-9]+$"},
        "reportId": {"type": "string", "pattern": "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"},
        "runId": {"type": "string", "minLength": 1},
        "timestamp": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$"},
        "generatedBy": TEXT,
        "extra": {"type": "object"},
        "results": {
            "type": "object",
            "required": ["tool", "summary", "tests"],
            "additionalProperties": False,
            "properties": {
                "tool": {
                    "type": "object",
                    "required": ["name"],
                    "additionalProperties": False,
                    "properties": {"name": {"type": "string", "minLength": 1}, "version": TEXT, "extra": {}},
                },
                "summary": {
                    "type": "object",
                    "required": ["tests", "passed", "failed", "skipped", "pending", "other", "start", "stop"],
                    "additionalProperties": False,
                    "properties": {
                        **dict.fromkeys(("tests", "passed", "failed", "skipped", "pending", "other"), WHOLE),
                        **dict.fromkeys(("flaky", "suites", "start", "stop", "duration"), WHOLE),
                        "extra": {"type": "object"},
                    },
                },
                "tests": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["name", "status", "duration"],
                        "additionalProperties": False,
                        "properties": {
                            "name": {"type": "string", "minLength": 1},
                            "status": {"enum": ["passed", "failed", "skipped", "pending", "other"]},
                            **dict.fromkeys(("duration", "start", "stop", "line", "retries"), WHOLE),
                            **dict.fromkeys(("message", "trace", "snippet", "rawStatus", "type", "filePath"), TEXT),
                            "suite": {"type": "array", "minItems": 1, "items": TEXT},
                            "tags": {"type": "array", "items": TEXT},
                            "flaky": {"type": "boolean"},
                            "extra": {"type": "object"},
                        },
                    },
                },
                "environment": {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {"commit": TEXT, "healthy": {"type": "boolean"}, "extra": {"type": "object"}},
                },
                "extra": {"type": "object"},
            },
        },
    },
}  # fmt: skip


def report(made: Made) -> dict[str, Any]:
    made.publish()
    read: dict[str, Any] = json.loads((made.folder / "ctrf/report.json").read_text())
    jsonschema.validate(read, SCHEMA)
    return read


@pytest.mark.parametrize("kind", ["pass", "fail", "unproven"])
def test_reports_fit_the_schema(made: Made, kind: str) -> None:
    results = report(example(made, kind))["results"]
    summary = results["summary"]
    statuses = ("passed", "failed", "skipped", "pending", "other")
    assert summary["tests"] == len(results["tests"]) == sum(summary[status] for status in statuses)
    assert summary["stop"] - summary["start"] == 161_000
    assert results["environment"]["healthy"] is (kind == "pass")


def test_a_report_fits_without_anything_known(made: Made) -> None:
    made.more = {"run_id": None, "commit": None, "started": None, "stopped": None}
    assert report(made)["results"]["tests"] == []


def test_every_outcome_has_its_word(made: Made) -> None:
    tests = [
        Test(name=f"tests/a/test_x.py::{outcome.value}", outcome=outcome, attempts=2 if outcome is Outcome.FLAKY else 1)
        for outcome in Outcome
    ]
    made.cell("server:reference", tests)
    found = {
        test["rawStatus"]: test for test in report(made)["results"]["tests"] if test["suite"][0] != "release verdict"
    }
    assert {word: test["status"] for word, test in found.items()} == {
        "passed": "passed", "flaky": "passed", "failed": "failed", "error": "failed", "skipped": "skipped",
        "xfailed": "other", "xpassed": "other",
    }  # fmt: skip
    assert (found["flaky"]["flaky"], found["flaky"]["retries"]) == (True, 1)
    assert found["passed"]["suite"] == ["base-ollama-server-reference", "tests/a/test_x.py"]
    assert found["passed"]["duration"] == 100


def test_a_report_whose_tests_passed_is_not_green_where_the_verdict_is_not(made: Made) -> None:
    made.cell("server:reference", [Test(name="tests/test_a.py::test_a")], not_proven("of another commit"))
    results = report(made)["results"]
    assert results["summary"]["failed"] == 1
    rule = next(test for test in results["tests"] if test["suite"] == ["release verdict"])
    assert (rule["status"], rule["rawStatus"]) == ("failed", "NOT PROVEN")


def test_a_failure_has_its_place_and_the_end_of_its_text(made: Made) -> None:
    text = "x" * 100_000 + "\nE   assert 1 == 2\ntests/test_a.py:7: AssertionError"
    made.cell("server:reference", [Test(name="tests/test_a.py::test_a", outcome=Outcome.FAILED, text=text)])
    test = report(made)["results"]["tests"][0]
    assert (test["message"], test["line"], test["filePath"]) == ("assert 1 == 2", 7, "tests/test_a.py")
    assert len(test["trace"]) == 16_384
    assert test["trace"].endswith("AssertionError")


def test_the_tests_of_claims_are_a_suite_of_their_own(made: Made) -> None:
    folder = made.cell("server:reference", [Test(name="tests/faults/test_x.py::test_one", outcome=Outcome.FAILED)])
    for name in ("tests.jsonl", "junit.xml"):
        path = made.folder / "checks/claims" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        (folder / name).rename(path)
    jsonfile.write(made.folder / "checks/claims.json", {"schema": 1, "kind": "claims", "exit_code": 1})
    found = [test for test in report(made)["results"]["tests"] if test["suite"][0] == "claims"]
    assert [test["name"] for test in found] == ["tests/faults/test_x.py::test_one"]
    assert "claims" in {case.suite for case in junit.read(made.folder / "junit.xml").cases}
