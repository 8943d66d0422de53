"""The exit code of a cell from what it left: one row for each way to end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from stackproof.errors import ExitCode
from stackproof.evidence.outcomes import Counts, Outcome, count
from stackproof.evidence.testlog import TestEntry, TestLog
from stackproof.run.judge import CellFacts, judge, worst

MISS = {"test_id": "t.py::test_a", "kind": "no-match", "message": "no recording for POST /v1/chat\n  nearest: x"}


def facts(
    code: int | None = 0,
    tests: Mapping[str, str] | None = None,
    *,
    exitstatus: int | None = 0,
    collected: int | None = None,
    misses: tuple[Mapping[str, Any], ...] = (),
    text: str = "",
    strict: bool = False,
    unused: int = 0,
    unseen: tuple[Mapping[str, str], ...] = (),
    budget: Mapping[str, Any] | None = None,
    **outcome: object,
) -> CellFacts:
    outcomes = {"t.py::test_a": "passed"} if tests is None else tests
    entries = {name: TestEntry(nodeid=name, outcome=Outcome(word), text=text) for name, word in outcomes.items()}
    total = len(entries) if collected is None else collected
    return CellFacts(
        outcome={"exit_code": code, "error": None, "signal": None, **outcome},
        log=TestLog(
            present=True,
            collected=tuple(f"t{n}" for n in range(total)),
            tests=entries,
            calls={"unused": unused, "unused_files": ["recordings/a.json"], "unseen": list(unseen)},
            exitstatus=exitstatus,
        ),
        counts=count(entry.outcome for entry in entries.values()),
        misses=misses,
        strict=strict,
        budget=budget,
    )


PAST = ({"host": "a.invalid:443", "test": "t.py::test_a"}, {"host": "b.invalid", "test": "stack"})
USED_UP = {"ended_by": "requests", "requests": [2, 2], "why": "the budget of this run is used up: 2 of 2 requests"}
ENOUGH = {"ended_by": None, "why": None}
ERROR = {"kind": "StackStartError", "message": "it exited", "hint": "look", "exit_code": 5}
FAILED = {"t.py::test_a": "failed"}


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        (facts(), ExitCode.PASS, ""),
        (facts(tests={"a": "passed", "b": "skipped"}), ExitCode.PASS, ""),
        (facts(1, FAILED, exitstatus=1), ExitCode.TESTS, "1 failed"),
        (facts(1, {"a": "error"}, exitstatus=1), ExitCode.TESTS, "1 error"),
        (facts(1, FAILED, exitstatus=1, misses=(MISS,)), ExitCode.RECORDINGS, "only recordings are at fault"),
        (facts(1, {"b": "failed"}, exitstatus=1, misses=(MISS,)), ExitCode.TESTS, "1 failed"),
        (
            facts(1, {"b": "error"}, exitstatus=1, misses=(MISS,), text="E  no recording for POST /v1/chat"),
            ExitCode.RECORDINGS,
            "only recordings",
        ),
        (facts(1, FAILED, exitstatus=1, misses=({**MISS, "kind": "network"},)), ExitCode.TESTS, "1 failed"),
        (facts(misses=(MISS,)), ExitCode.RECORDINGS, "the tests passed, yet 1 provider call had no recording"),
        (facts(misses=({**MISS, "kind": "network"},)), ExitCode.TESTS, "left what replay allows"),
        (facts(unused=2), ExitCode.PASS, ""),
        (facts(unused=2, strict=True), ExitCode.RECORDINGS, "2 recordings of tests that passed were not used"),
        (facts(6, exitstatus=6, unused=2, strict=True), ExitCode.RECORDINGS, "were not used"),
        (facts(unseen=PAST), ExitCode.PASS, ""),
        (
            facts(unseen=PAST[:1], strict=True),
            ExitCode.RECORDINGS,
            "a.invalid:443 was contacted by t.py::test_a and not recorded (--strict)",
        ),
        (
            facts(6, exitstatus=6, unseen=PAST, unused=2, strict=True),
            ExitCode.RECORDINGS,
            "a.invalid:443 was contacted by t.py::test_a and not recorded, and 1 more like this (--strict)",
        ),
        (facts(1, FAILED, exitstatus=1, unseen=PAST, strict=True), ExitCode.TESTS, "1 failed"),
        (
            facts(6, exitstatus=6, misses=(MISS,)),
            ExitCode.RECORDINGS,
            "the tests passed, yet 1 provider call had no recording",
        ),
        (facts(0, {}), ExitCode.NOTHING_RAN, "no test has a result"),
        (facts(0, {"a": "skipped"}), ExitCode.NOTHING_RAN, "nothing ran: 1 skipped"),
        (facts(0, {"a": "xfailed"}), ExitCode.NOT_PROVEN, "no test passed: 1 expected failure"),
        (facts(0, {"a": "xfailed", "b": "skipped"}), ExitCode.NOT_PROVEN, "no test passed"),
        (facts(0, {"a": "xfailed", "b": "passed"}), ExitCode.PASS, ""),
        (facts(5, {}, exitstatus=5), ExitCode.NOTHING_RAN, "no test was collected"),
        (facts(0, FAILED), ExitCode.NOT_PROVEN, "yet its log has 1 failed"),
        (facts(0, collected=3), ExitCode.NOT_PROVEN, "2 collected tests have no result"),
        (facts(0, exitstatus=1), ExitCode.NOT_PROVEN, "its session ended with 1"),
        (facts(0, exitstatus=None), ExitCode.TESTS, "exited with code 0 without finishing: 1 of 1 tests"),
        (facts(-9, exitstatus=None), ExitCode.TESTS, "was ended by SIGKILL without finishing"),
        (facts(1, exitstatus=1), ExitCode.TESTS, "pytest failed although no test did"),
        (facts(2, {}, exitstatus=2), ExitCode.TESTS, "could not be collected"),
        (facts(2, exitstatus=2), ExitCode.TESTS, "was interrupted (exit code 2); 1 passed"),
        (facts(3, exitstatus=3), ExitCode.TESTS, "internal error"),
        (facts(4, {}, exitstatus=None), ExitCode.USAGE, "could not start"),
        (facts(None, {}, error=ERROR), ExitCode.STACK_START, "it exited"),
        (facts(0, error={**ERROR, "exit_code": 1}), ExitCode.TESTS, "it exited; 1 passed"),
        (facts(0, error={"message": "?", "exit_code": 99}), ExitCode.INTERNAL, "?"),
        (facts(2, signal="SIGINT"), ExitCode.SIGINT, "stopped by SIGINT"),
        (facts(2, signal="SIGTERM"), ExitCode.SIGTERM, "stopped by SIGTERM"),
        (facts(None), ExitCode.INTERNAL, "never run"),
        (CellFacts(outcome=None, log=TestLog(), counts=Counts()), ExitCode.INTERNAL, "without saying how"),
    ],
)
def test_every_way_to_end_has_its_exit_code_and_its_reason(given: CellFacts, code: ExitCode, said: str) -> None:
    judgement = judge(given)
    assert judgement.exit_code is code, judgement
    assert said in judgement.reason


@pytest.mark.parametrize(
    ("code", "counts", "expected"),
    [
        (0, Counts(passed=1), ExitCode.NOT_PROVEN),
        (1, Counts(passed=1, failed=1), ExitCode.TESTS),
        (0, Counts(), ExitCode.TESTS),
    ],
)
def test_a_junit_report_without_the_log_of_the_tests_is_never_green(
    code: int, counts: Counts, expected: ExitCode
) -> None:
    given = {"exit_code": code, "error": None, "signal": None}
    assert judge(CellFacts(outcome=given, log=TestLog(), counts=counts)).exit_code is expected


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ([], 0),
        ([0, 0], 0),
        ([0, 3, 7], 7),
        ([7, 6, 0], 6),
        ([6, 1], 1),
        ([1, 5], 5),
        ([5, 130], 130),
    ],
)
def test_the_worst_cell_gives_the_exit_code_of_the_run(codes: list[int], expected: int) -> None:
    assert worst(ExitCode(code) for code in codes) == expected


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        pytest.param(
            facts(7, {"a": "passed", "b": "skipped"}, exitstatus=7, budget=USED_UP),
            ExitCode.NOT_PROVEN,
            "the budget of this run is used up: 2 of 2 requests; 1 passed, 1 skipped",
            id="some ran",
        ),
        pytest.param(
            facts(0, {"a": "skipped"}, budget=USED_UP),
            ExitCode.NOT_PROVEN,
            "the budget of this run is used up: 2 of 2 requests; 1 skipped",
            id="none ran",
        ),
        pytest.param(
            facts(1, FAILED, exitstatus=1, budget=USED_UP),
            ExitCode.TESTS,
            "1 failed; the budget of this run is used up: 2 of 2 requests",
            id="a failure is more",
        ),
        pytest.param(
            facts(None, {}, error=ERROR, budget=USED_UP),
            ExitCode.STACK_START,
            "it exited; the budget of this run is used up: 2 of 2 requests",
            id="a stack that could not start without its call",
        ),
        pytest.param(facts(0, signal="SIGINT", budget=USED_UP), ExitCode.SIGINT, "stopped by SIGINT", id="a signal"),
        pytest.param(facts(budget=ENOUGH), ExitCode.PASS, "", id="enough"),
        pytest.param(facts(budget={}), ExitCode.PASS, "", id="a file that says nothing"),
    ],
)
def test_a_budget_that_is_used_up_leaves_the_cell_not_proven(given: CellFacts, code: ExitCode, said: str) -> None:
    judged = judge(given)
    assert (judged.exit_code, judged.reason) == (code, said)
    assert ("as --max-requests 4, or" in (judged.hint or "")) is (code is ExitCode.NOT_PROVEN)


def test_more_of_a_large_budget_is_a_number_that_can_be_typed() -> None:
    judged = judge(facts(0, {"a": "skipped"}, budget={"tokens": [700_001, 700_001], "ended_by": "tokens", "why": "w"}))
    assert "as --max-tokens 1400002, or" in (judged.hint or "")
