"""Tests of another runner: joined by the names that the log gives of the report, and judged in its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackproof.errors import ExitCode
from stackproof.evidence.junit import Case, Report
from stackproof.evidence.outcomes import Counts, Outcome
from stackproof.evidence.read import CellFacts
from stackproof.evidence.testlog import TestEntry, TestLog, read
from stackproof.run.judge import CellFacts as Left
from stackproof.run.judge import judge
from stackproof.verdict import tests_of as joining

NAME = "tests/ts/a.test.ts::group > says [x]::y"
PAIR = ("a.test.ts", "group > says [x]::y")


def cell(entry: TestEntry, *cases: Case) -> CellFacts:
    return CellFacts(
        id="ts", report=Report(path=Path("junit.xml"), cases=cases), log=TestLog(present=True, tests={NAME: entry})
    )


def case(outcome: Outcome = Outcome.PASSED) -> Case:
    return Case(suite="a.test.ts", classname=PAIR[0], name=PAIR[1], outcome=outcome)


def test_a_case_is_found_by_the_names_that_the_log_has() -> None:
    joined = joining.tests_of(cell(TestEntry(nodeid=NAME, outcome=Outcome.PASSED, report=PAIR), case()))
    assert [fact.name for fact in joined.facts] == [NAME]
    assert joined.contradictions == ()


def test_report_and_log_that_disagree_are_seen() -> None:
    joined = joining.tests_of(cell(TestEntry(nodeid=NAME, outcome=Outcome.PASSED, report=PAIR), case(Outcome.FAILED)))
    assert joined.contradictions == (f"{NAME} is passed in the log and failed in the report",)
    gone = joining.tests_of(cell(TestEntry(nodeid=NAME, outcome=Outcome.PASSED, report=("b.test.ts", "other")), case()))
    assert f"{NAME} is in the log and not in the report" in gone.contradictions


@pytest.mark.parametrize("report", ["null", '"a"', '["a"]', '["a", 1]'])
def test_names_that_are_none_are_left_to_the_node_id(tmp_path: Path, report: str) -> None:
    path = tmp_path / "tests.jsonl"
    path.write_text(f'{{"event": "test", "nodeid": "a::b", "outcome": "passed", "report": {report}}}\n')
    assert read(path).tests["a::b"].report is None


@pytest.mark.parametrize(
    ("code", "counts", "said", "exit_code"),
    [
        (5, Counts(), "the report of vitest has no test", ExitCode.NOTHING_RAN),
        (1, Counts(passed=1), "vitest failed although no test did (exit code 1)", ExitCode.TESTS),
        (0, Counts(passed=1, failed=1), "vitest exited with 0, yet its log has", ExitCode.NOT_PROVEN),
        (None, Counts(), "vitest was never run", ExitCode.INTERNAL),
    ],
)
def test_the_runner_is_named_where_it_is_at_fault(
    code: int | None, counts: Counts, said: str, exit_code: ExitCode
) -> None:
    log = TestLog(present=True, exitstatus=code, collected=())
    judgement = judge(Left(outcome={"exit_code": code}, log=log, counts=counts, runner="vitest"))
    assert judgement.exit_code is exit_code
    assert judgement.reason.startswith(said)
